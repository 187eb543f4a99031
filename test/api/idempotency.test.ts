import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { newHold } from '../hold.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

/** The keys that the organization of this file has used. */
const usedKeys = async (): Promise<number> => {
  const { rows } = await product.database.pool.query(
    'select count(*)::int as count from idempotency where organization_id = $1',
    [organizationIds.parse(product.tenant.organizationId)],
  );
  return rows[0].count;
};
const withKey = (key: string) => ({ 'idempotency-key': key });
const execute = (id: string, body: unknown, key: string, headers = {}, prefix = '/api/v1') =>
  api.post(`${prefix}/workflows/${id}/execute`, body, { ...withKey(key), ...headers });
const totalRuns = async (id: string): Promise<number> => (await api.get(`/v1/workflows/${id}`)).body.data.totalRuns;
/** Requests made at once, and again where some waited too long for a connection to the database, on a busy machine. */
const allAnswered = <Asked extends { answers: Answer[] }>(ask: (attempt: number) => Promise<Asked>): Promise<Asked> => {
  let attempts = 0;
  return until('all are answered', async () => {
    const asked = await ask(attempts++);
    return asked.answers.every(({ status }) => status !== 503) && asked;
  });
};
const replayed = (answer: { headers: Headers }) => answer.headers.get('idempotent-replayed');

describe('the same key and body', () => {
  test('give the first answer again and make one run', async () => {
    const { id } = await makeWorkflow(api);
    const first = await execute(id, { input: 'x' }, 'again');
    expect(first.status).toBe(200);
    expect(replayed(first)).toBeNull();
    const again = await execute(id, { input: 'x' }, 'again');
    expect(again.status).toBe(200);
    expect(replayed(again)).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await totalRuns(id)).toBe(1);
  });

  test('attach to a run in flight, and an asynchronous start is answered as before', async () => {
    const hold = newHold(product.database);
    const { id } = await makeWorkflow(api, hold.word);
    const body = { input: 'x', async: true };
    const started = await execute(id, body, 'async');
    const again = await execute(id, body, 'async');
    expect(again.body).toEqual(started.body);
    expect(replayed(again)).toBe('true');

    const both = Promise.all([execute(id, { input: 'y' }, 'sync'), execute(id, { input: 'y' }, 'sync')]);
    await until('the second run is in flight', async () => (await totalRuns(id)) === 2);
    await hold.release();
    const [one, two] = await both;
    expect(one.body).toEqual(two.body);
    expect(one.body.data.status).toBe('COMPLETED');
    expect([replayed(one), replayed(two)].sort()).toEqual([null, 'true'].sort());
    expect(await totalRuns(id)).toBe(2);
  });

  test('make one run of fifty requests at once', async () => {
    const { id, answers } = await allAnswered(async () => {
      const { id } = await makeWorkflow(api);
      return { id, answers: await Promise.all(Array.from({ length: 50 }, () => execute(id, { input: 'x' }, 'fifty'))) };
    });
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1);
    expect(await totalRuns(id)).toBe(1);
  });

  test('make one run of requests to several processes', async () => {
    const other = apiClient((await product.serve()).api, product.tenant.testKey);
    const { id, answers } = await allAnswered(async () => {
      const { id } = await makeWorkflow(api);
      const asked = Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? api : other).post(`/v1/workflows/${id}/execute`, { input: 'x' }, withKey('two processes')),
      );
      return { id, answers: await Promise.all(asked) };
    });
    expect(new Set(answers.map(({ body }) => body.data.runId)).size).toBe(1);
    expect(await totalRuns(id)).toBe(1);
  });

  test('replay a failure with a request id of its own', async () => {
    const { id } = await makeWorkflow(api, 'sandbox:fail');
    const first = await execute(id, { input: 'x' }, 'failure');
    const again = await execute(id, { input: 'x' }, 'failure');
    expect([first.status, again.status]).toEqual([500, 500]);
    expect([replayed(first), replayed(again)]).toEqual([null, 'true']);
    const { requestId, ...rest } = again.body.error;
    expect(first.body.error).toMatchObject(rest);
    expect(requestId).toBe(again.headers.get('x-request-id'));
    expect(requestId).not.toBe(first.body.error.requestId);
    expect(await totalRuns(id)).toBe(1);
  });

  test('are the same under both prefixes, both forms of the id and in either dialect', async () => {
    const { id, wf } = await makeWorkflow(api);
    const first = await execute(id, { input: 'x' }, 'places');
    const runId = first.body.data.runId.replaceAll('-', '');
    const answers = [
      await execute(wf, { input: 'x' }, 'places', { 'x-api-variant': 'A' }),
      await execute(id.toUpperCase(), { input: 'x' }, 'places', {}, '/v1'),
      await execute(wf, { input: 'x' }, 'places', {}, '/v1'),
      await execute(id, { input: 'x' }, 'places', inB),
    ];
    for (const answer of answers) {
      expect(replayed(answer)).toBe('true');
      expect(answer.body.data.runId.replace('run_', '').replaceAll('-', '')).toBe(runId);
    }
    expect(await totalRuns(id)).toBe(1);
  });

  test('still stand for the run after the workflow has been changed or turned off', async () => {
    const { id } = await makeWorkflow(api);
    const first = await execute(id, { input: 'x' }, 'changed');
    await api.patch(`/v1/workflows/${id}`, { isActive: false, steps: [] });
    const again = await execute(id, { input: 'x' }, 'changed');
    expect(again.body).toEqual(first.body);
  });

  test('are forgotten after 24 hours', async () => {
    const { id } = await makeWorkflow(api);
    const first = await execute(id, { input: 'x' }, 'a day ago');
    await product.database.pool.query(
      `update idempotency set created_at = created_at - interval '24 hours 1 second'
        where key = 'a day ago' and organization_id = $1`,
      [organizationIds.parse(product.tenant.organizationId)],
    );
    const next = await execute(id, { input: 'x' }, 'a day ago');
    expect(replayed(next)).toBeNull();
    expect(next.body.data.runId).not.toBe(first.body.data.runId);
    expect(replayed(await execute(id, { input: 'x' }, 'a day ago'))).toBe('true');
  });
});

describe('equal bodies', () => {
  test.each([
    ['{"input":{"a":1,"b":[1,2]}}', ' { "input" : { "b" : [ 1 , 2 ] , "a" : 1.0 } } '],
    ['{"input":"é"}', '{"input":"\\u00e9"}'],
    ['{"input":100}', '{"input":1e2}'],
    ['{"input":0}', '{"input":-0}'],
    ['{"input":"x","variables":{}}', '{"variables":{},"input":"x"}'],
  ])('%s and %s are the same', async (one, other) => {
    const { id } = await makeWorkflow(api);
    const headers = { 'x-api-variant': 'A' };
    const first = await execute(id, one, 'equal', headers);
    const again = await execute(id, other, 'equal', headers);
    expect(replayed(again)).toBe('true');
    expect(again.body).toEqual(first.body);
  });

  test.each([
    ['{"input":"x"}', '{"input":"y"}'],
    ['{"input":1}', '{"input":"1"}'],
    ['{"input":[1,2]}', '{"input":[2,1]}'],
    ['{"input":null}', '{"variables":{}}'],
    ['{"input":"x"}', '{"input":"x","ignored":true}'],
    ['{"input":{"__proto__":1}}', '{"input":{}}'],
  ])('%s and %s are not, and the second is refused', async (one, other) => {
    const { id } = await makeWorkflow(api);
    const headers = { 'x-api-variant': 'A' };
    const first = await execute(id, one, 'unequal', headers);
    expect(await execute(id, other, 'unequal', headers)).toMatchObject({
      status: 422,
      body: { success: false, error: { code: 'idempotency_key_reused' } },
    });
    expect(await execute(id, other, 'unequal', inB)).toMatchObject({
      status: 422,
      body: { success: false, error: { code: 'IDEMPOTENCY_KEY_REUSED' } },
    });
    expect((await execute(id, one, 'unequal', headers)).body).toEqual(first.body);
    expect(await totalRuns(id)).toBe(1);
  });
});

describe('a refused request does not use the key up', () => {
  const expectRefusal = async (id: string, key: string, refusedBody: unknown, status: number) => {
    expect((await execute(id, refusedBody, key, { 'x-api-variant': 'A' })).status).toBe(status);
  };

  test('for an inactive workflow', async () => {
    const { id } = await makeWorkflow(api, { isActive: false });
    await expectRefusal(id, 'inactive', { input: 'x' }, 400);
    await api.patch(`/v1/workflows/${id}`, { isActive: true });
    const now = await execute(id, { input: 'x' }, 'inactive');
    expect(now.status).toBe(200);
    expect(replayed(now)).toBeNull();
  });

  test('for a body that is not valid', async () => {
    const inputs = [{ name: 'who', type: 'string', required: true }];
    const { id } = await makeWorkflow(api, { inputs });
    await expectRefusal(id, 'invalid', { variables: {} }, 400);
    await expectRefusal(id, 'invalid', { variables: { who: 5 } }, 400);
    await expectRefusal(id, 'invalid', '{', 400);
    expect(await execute(id, { variables: { who: 'x' } }, 'invalid')).toMatchObject({ status: 200 });
  });

  test('for a missing provider', async () => {
    const live = apiClient(product.process.api, product.tenant.liveKey);
    const { id } = await makeWorkflow(live);
    const run = () => live.post(`/v1/workflows/${id}/execute`, { input: 'x' }, withKey('provider'));
    expect(await run()).toMatchObject({ status: 503 });
    await live.patch(`/v1/workflows/${id}`, { steps: [] });
    expect(await run()).toMatchObject({ status: 200, body: { data: { output: 'x' } } });
  });

  test('for an unknown workflow, a wrong type of body, too large a body', async () => {
    const before = await usedKeys();
    await expectRefusal('0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000', 'nobody', { input: 'x' }, 404);
    const { id } = await makeWorkflow(api);
    expect((await execute(id, 'x', 'typed', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await execute(id, { input: 'x'.repeat(1024 * 1024) }, 'large')).status).toBe(413);
    expect(await usedKeys()).toBe(before);
  });
});

test.each([
  ['empty', ''],
  ['of 256 characters', 'k'.repeat(256)],
  ['beyond ASCII', 'schlüssel'],
])('a key that is %s is refused', async (_, key) => {
  const { id } = await makeWorkflow(api);
  const answer = await execute(id, { input: 'x' }, key);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
  expect(answer.body.error.details.errors[0].path).toBe('Idempotency-Key');
  expect(await totalRuns(id)).toBe(0);
});

test('a key of 255 characters is a key', async () => {
  const { id } = await makeWorkflow(api);
  const key = 'k'.repeat(255);
  await execute(id, { input: 'x' }, key);
  expect(replayed(await execute(id, { input: 'x' }, key))).toBe('true');
});

describe('creating a workflow', () => {
  const create = (client: ApiClient, body: object, key: string, headers = {}, prefix = '/api/v1') =>
    client.post(`${prefix}/workflows`, body, { ...withKey(key), ...headers });

  test('happens once per key, however many ask at once', async () => {
    const { key, answers } = await allAnswered(async (attempt) => {
      const key = `create ${attempt}`;
      const asked = Array.from({ length: 20 }, (_, n) =>
        create(api, { name: 'Once' }, key, {}, n % 2 ? '/v1' : '/api/v1'),
      );
      return { key, answers: await Promise.all(asked) };
    });
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1);
    expect(await create(api, { name: 'Other' }, key)).toMatchObject({
      status: 422,
      body: { error: { code: 'idempotency_key_reused' } },
    });
    expect((await create(api, { name: 'Once' }, key, inB)).body.data.id).toMatch(/^wf_/);
  });

  test('is each tenant’s and each environment’s own, whatever key they chose', async () => {
    const other = await product.createTenant();
    const keys = [product.tenant.testKey, product.tenant.liveKey, other.testKey, other.liveKey];
    const answers = await Promise.all(
      keys.map((key) => create(apiClient(product.process.api, key), { name: 'Same' }, 'shared')),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(answers.map(replayed)).toEqual([null, null, null, null]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(4);
  });

  test('and executing it are different things under one key', async () => {
    const created = await create(api, { name: 'Two verbs' }, 'verbs');
    expect(replayed(await execute(created.body.data.id, { name: 'Two verbs' }, 'verbs'))).toBeNull();
  });
});

test('a key is bound to one workflow', async () => {
  const [one, two] = [await makeWorkflow(api), await makeWorkflow(api)];
  const [first, second] = [await execute(one.id, {}, 'bound'), await execute(two.id, {}, 'bound')];
  expect(replayed(second)).toBeNull();
  expect(second.body.data.runId).not.toBe(first.body.data.runId);
  await until('both ran', async () => (await totalRuns(one.id)) === 1 && (await totalRuns(two.id)) === 1);
});
