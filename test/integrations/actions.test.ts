import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { catalog } from '../../src/integrations/catalog.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { type Product, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { connectInSandbox } from './connect-in-sandbox.ts';

let product: Product;
let api: ApiClient;
let base: string;
let key: string;
let organizationId: string;
beforeAll(async () => {
  const shared = await sharedProduct();
  product = shared;
  base = shared.process.api;
  ({ testKey: key, organizationId } = await product.createTenant({ plan: 'enterprise' }));
  api = apiClient(base, key);
  for (const { id } of catalog) await connectInSandbox(api, base, id);
});
afterAll(() => product.close());

const newClient = async (plan: 'free' | 'enterprise' = 'enterprise') =>
  apiClient(base, (await product.createTenant({ plan })).testKey);
const at = (name: string, prefix = '/api/v1') => {
  const [integration, action] = name.split(' ');
  return `${prefix}/integrations/${integration}/actions/${action}`;
};
const message = { channel: 'C0123456789', text: 'The build is green.' };
const say = (text: string, headers?: Record<string, string>) =>
  api.post(at('slack send_message'), { ...message, text }, headers);
const keyed = (key: string) => ({ 'idempotency-key': key });
const inB = { 'x-api-variant': 'B' };
const actions = catalog.flatMap(({ id, actions }) =>
  Object.entries(actions).map(([name, action]) => [`${id} ${name}`, action] as const),
);

describe('each action in the sandbox', () => {
  test('there are nine', () => expect(actions).toHaveLength(9));

  test.each(actions)('%s answers as it is published, the same for the same request', async (name, action) => {
    const { payload } = action.example;
    const answers = [await api.post(at(name), payload), await api.post(at(name, '/v1'), payload, inB)];
    for (const { status, body } of answers) {
      expect([status, body.success]).toEqual([200, true]);
      expect(action.answer.parse(body.data)).toEqual(body.data);
    }
    expect(answers[1]!.body).toEqual(answers[0]!.body);
  });
});

describe('an action is refused', () => {
  const refusal = async (path: string, body: unknown, headers: Record<string, string> = {}, client = api) => {
    const { status, body: answered } = await client.post(path, body, headers);
    const { code, details } = answered.error;
    return [status, code, details];
  };

  test('that is unknown, before its payload and its connection are checked', async () => {
    const stranger = await newClient();
    const names = { integrationId: 'slack', actionId: 'nothing' };
    const unknown = { integrationId: 'nothing' };
    for (const client of [api, stranger]) {
      expect(await refusal(at('slack nothing'), {}, {}, client)).toEqual([404, 'not_found', names]);
      expect(await refusal(at('slack nothing'), {}, inB, client)).toEqual([404, 'RESOURCE_NOT_FOUND', names]);
      expect(await refusal(at('nothing send_message'), {}, {}, client)).toEqual([
        404,
        'integration_not_found',
        unknown,
      ]);
      expect(await refusal(at('nothing send_message'), {}, inB, client)).toEqual([
        404,
        'INTEGRATION_NOT_FOUND',
        unknown,
      ]);
    }
    expect(await refusal(at('slack constructor'), {})).toMatchObject([404, 'not_found', {}]);
  });

  test('whose payload does not fit, before its connection is looked at', async () => {
    const stranger = await newClient();
    const errors = [{ path: 'text', message: 'Expected text, blocks or both.' }];
    for (const client of [api, stranger]) {
      expect(await refusal(at('slack send_message'), { channel: 'C1' }, {}, client)).toEqual([
        400,
        'invalid_payload',
        { errors },
      ]);
      expect((await refusal(at('slack send_message'), { channel: 'C1' }, inB, client))[1]).toBe('INVALID_PAYLOAD');
      for (const body of ['[]', '5', 'nothing', '']) {
        expect(await refusal(at('slack send_message'), body, {}, client)).toMatchObject([400, 'validation_error', {}]);
      }
    }
  });

  const wrongProperties = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, null]));

  test('with one problem where its payload has too many properties: they are counted before they are checked', async () => {
    for (const count of [501, 39_000]) {
      const properties = wrongProperties(count);
      const [status, code, { errors }] = await refusal(at('hubspot create_contact'), { properties });
      const problem = { path: 'properties', message: 'Expected at most 500 properties.' };
      expect([status, code, errors]).toEqual([400, 'invalid_payload', [problem]]);
    }
    const message = 'The body has more than 40,000 objects, lists and members.';
    const ofBody = await refusal(at('hubspot create_contact'), { properties: wrongProperties(40_000) });
    expect(ofBody).toEqual([400, 'validation_error', { errors: [{ path: '', message }] }]);
  });

  test('with the first hundred problems of its payload, however many there are', async () => {
    const properties = wrongProperties(500);
    const [status, code, { errors }] = await refusal(at('hubspot create_contact'), { properties });
    expect([status, code, errors.length]).toEqual([400, 'invalid_payload', 100]);
    const step = {
      id: 'add',
      type: 'action',
      integration: 'hubspot',
      action: 'create_contact',
      payload: { properties },
    };
    const [, , ofStep] = await refusal('/api/v1/workflows', { name: 'Many problems', steps: [step] });
    expect(ofStep.errors).toHaveLength(100);
  });

  test('where nothing is connected', async () => {
    const stranger = await newClient();
    const details = { integrationId: 'slack' };
    expect(await refusal(at('slack send_message'), message, {}, stranger)).toEqual([409, 'not_connected', details]);
    expect(await refusal(at('slack send_message'), message, inB, stranger)).toEqual([409, 'NOT_CONNECTED', details]);
  });
});

describe('a failure that is asked for', () => {
  test('has its published code in both dialects', async () => {
    const names = { integrationId: 'slack', actionId: 'send_message' };
    for (const [headers, code] of [
      [{}, 'action_failed'],
      [inB, 'ACTION_FAILED'],
    ] as const) {
      const answer = await say('Please sandbox:fail now', headers);
      expect([answer.status, answer.body]).toEqual([
        502,
        {
          success: false,
          error: {
            code,
            message: expect.any(String),
            requestId: expect.any(String),
            details: { ...names, providerCode: 'sandbox_failure', outcome: 'failed' },
          },
        },
      ]);
    }
  });

  test('anywhere in a payload: a limit of the provider is reported with its time', async () => {
    const blocks = [{ type: 'section', text: { type: 'plain_text', text: 'sandbox:rate_limited' } }];
    for (const [headers, code] of [
      [{}, 'rate_limited'],
      [inB, 'RATE_LIMITED'],
    ] as const) {
      const answer = await api.post(at('slack send_message'), { channel: 'C1', blocks }, headers);
      expect([answer.status, answer.headers.get('retry-after'), answer.body.success]).toEqual([429, '30', false]);
      expect(answer.body.error).toMatchObject({ code, details: { integrationId: 'slack' } });
    }
    const long = await say('sandbox:rate_limited=99999');
    expect([long.status, long.headers.get('retry-after')]).toEqual([429, '3600']);
  });

  test('an overloaded provider is asked three times', async () => {
    expect(await say('sandbox:overloaded')).toMatchObject({ status: 200, body: { data: { channel: 'C0123456789' } } });
    const { rows } = await product.database.pool.query(
      'select attempts, paused_ms from integration_action where organization_id = $1 order by created_at desc limit 1',
      [organizationIds.parse(organizationId)],
    );
    expect(rows).toEqual([{ attempts: 3, paused_ms: 2_000 }]);
  });

  test('access that ended is reported once, until the integration is connected again', async () => {
    const client = await newClient();
    await connectInSandbox(client, base, 'hubspot');
    const create = (email: string, headers = {}) =>
      client.post(at('hubspot create_contact'), { properties: { email } }, headers);
    for (const [email, headers, code] of [
      ['sandbox:auth_expired', {}, 'auth_expired'],
      ['ada@example.com', inB, 'AUTH_EXPIRED'],
    ] as const) {
      const answer = await create(email, headers);
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, null]);
      expect(answer.body).toMatchObject({ success: false, error: { code, details: { integrationId: 'hubspot' } } });
    }
    await connectInSandbox(client, base, 'hubspot');
    expect((await create('ada@example.com')).status).toBe(200);
  });
});

describe('an Idempotency-Key', () => {
  test('gets the first answer again, and belongs to one body', async () => {
    const first = await say('Once', keyed('once'));
    const again = await say('Once', keyed('once'));
    expect(again.body).toEqual(first.body);
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(await say('Twice', keyed('once'))).toMatchObject({
      status: 422,
      body: { error: { code: 'idempotency_key_reused' } },
    });
  });

  test('is given free by a failure, and stays taken while the provider is asked', async () => {
    for (const words of ['sandbox:fail', 'sandbox:rate_limited']) {
      expect((await say(words, keyed('failing'))).body.success).toBe(false);
      expect((await say('sandbox:slow=1', keyed(words))).status).toBe(200);
    }
    expect((await say('Something else', keyed('failing'))).status).toBe(200);
    const hold = newHold(product.database);
    const both = [1, 2].map(() => say(hold.word, keyed('held')));
    const refused = await Promise.race(both);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'idempotency_in_progress']);
    await hold.release();
    expect((await Promise.all(both)).map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  test('has the answer for a client that hung up', async () => {
    const hold = newHold(product.database);
    const hangUp = new AbortController();
    const sent = fetch(new URL(at('slack send_message'), base), {
      method: 'POST',
      signal: hangUp.signal,
      body: JSON.stringify({ ...message, text: hold.word }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...keyed('gone') },
    });
    await until('it is under way', async () => {
      const { rows } = await product.database.pool.query(
        'select from idempotency where organization_id = $1 and key = $2',
        [organizationIds.parse(organizationId), 'gone'],
      );
      return rows.length > 0;
    });
    hangUp.abort();
    await expect(sent).rejects.toThrow();
    await hold.release();
    const answer = await until('it is there', async () => {
      const one = await say(hold.word, keyed('gone'));
      return one.status !== 409 && one;
    });
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  });
});

test('an organization has as many actions under way as its plan says', async () => {
  const tenant = await product.createTenant({ plan: 'free' });
  const client = apiClient(base, tenant.testKey);
  await connectInSandbox(client, base, 'slack');
  const underWay = async () => {
    const sql = "select from integration_action where organization_id = $1 and status = 'processing'";
    return (await product.database.pool.query(sql, [organizationIds.parse(tenant.organizationId)])).rows.length;
  };
  const refusals: unknown[] = [];
  const hold = newHold(product.database);
  const hangUp = new AbortController();
  const slow = async () => {
    const answer = await fetch(new URL(at('slack send_message'), base), {
      method: 'POST',
      signal: hangUp.signal,
      body: JSON.stringify({ channel: 'C1', text: hold.word }),
      headers: { authorization: `Bearer ${tenant.testKey}`, 'content-type': 'application/json' },
    });
    refusals.push([answer.status, ((await answer.json()) as Answer['body']).error?.details.window]);
  };
  const sent = Promise.allSettled(Array.from({ length: 8 }, slow));
  await until('three are refused', async () => refusals.length >= 3);
  expect([await underWay(), refusals]).toEqual([5, Array(3).fill([429, 'open_actions'])]);
  // Another tenant is served meanwhile, and a tenant with all slots gets no further one.
  expect((await say('Hello')).status).toBe(200);
  await slow();
  expect([await underWay(), refusals]).toEqual([5, Array(4).fill([429, 'open_actions'])]);
  hangUp.abort();
  await sent;
  await hold.release();
});
