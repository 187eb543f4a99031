import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { integrationLimits } from '../../src/integrations/core/limits.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const message = { channel: 'C0123456789', text: 'The build is green.' };
const telling = (payload: object = message, more = {}) => ({
  id: 'tell',
  type: 'action',
  integration: 'slack',
  action: 'send_message',
  payload,
  ...more,
});

/** Runs the steps to their end. */
async function run(steps: object[], on = api, body: object = {}) {
  const { id } = await makeWorkflow(on, { steps });
  const { runId } = (await on.post(`/v1/workflows/${id}/execute`, { ...body, async: true }, { 'x-api-variant': 'A' }))
    .body.data;
  return endOf(on, runId);
}

describe('a step of type action with a connected integration', () => {
  let connected: ApiClient;
  beforeAll(async () => {
    connected = apiClient(product.process.api, (await product.createTenant({ plan: 'enterprise' })).testKey);
    for (const id of ['slack', 'linkedin']) await connectInSandbox(connected, product.process.api, id);
  });

  test('performs it with the values of the run, and its answer is the output', async () => {
    const steps = [
      { id: 'count', type: 'transform', expression: 'size(input)' },
      telling({ channel: 'C{{steps.count.output}}', text: 'Got {{input}}{{nothing}}' }),
      { id: 'after', type: 'transform', expression: 'steps.tell.output.channel' },
    ];
    const { status, output, stepResults } = await run(steps, connected, { input: 'abc' });
    expect([status, output.result, stepResults[1].output]).toEqual([
      'completed',
      'C3',
      { channel: 'C3', ts: expect.stringMatching(/^\d+\.\d{6}$/) },
    ]);
    expect([stepResults[1].attempts, stepResults[1].warnings]).toEqual([
      1,
      [{ code: 'unknown_variable', name: 'nothing' }],
    ]);
  });

  test('that is to be done later is scheduled', async () => {
    const payload = { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada', delay: 60 };
    const { status, output } = await run(
      [{ ...telling(payload), integration: 'linkedin', action: 'send_connection' }],
      connected,
    );
    expect([status, output.result.status]).toEqual(['completed', 'scheduled']);
  });

  test.each([
    ['sandbox:fail', 'action_failed', 1, {}],
    ['sandbox:rate_limited=1', 'rate_limited', 1, {}],
    ['sandbox:rate_limited=1', 'rate_limited', 2, { retry: { maxAttempts: 2 } }],
    ['', 'action_failed', 1, {}],
  ])('%j fails it with %s after %i attempts', async (words, code, attempts, more) => {
    const text = '{{input}}';
    const { status, error, stepResults } = await run([telling({ ...message, text }, more)], connected, {
      input: words,
    });
    expect([status, error.code, stepResults[0].attempts]).toEqual(['failed', code, attempts]);
    if (words === '') expect(error.message).toContain('text: ');
  });

  test('waits while as many actions are under way as may be', async () => {
    const hold = newHold(product.database);
    const slow = { ...message, text: hold.word };
    const count = integrationLimits.openActions.of('free');
    const tenant = await product.createTenant({ plan: 'free' });
    const small = apiClient(product.process.api, tenant.testKey);
    await connectInSandbox(small, product.process.api, 'slack');
    const busy = Array.from({ length: count }, () =>
      small.post('/api/v1/integrations/slack/actions/send_message', slow),
    );
    const underWay = async () => {
      const sql = `select from integration_action where organization_id = $1 and status = 'processing'`;
      return (await product.database.pool.query(sql, [organizationIds.parse(tenant.organizationId)])).rows.length;
    };
    await until('as many are under way', async () => (await underWay()) === count);
    // The requests wait for their runs: one that asks again and again would be over the limit of the minute.
    const execute = async (...steps: object[]) => {
      const { id } = await makeWorkflow(small, { steps });
      const answer = small.post(`/api/v1/workflows/${id}/execute`, { inputs: {}, async: false }, inB);
      const has = async (table: string, state: string) => {
        const sql = `select from ${table} s join run r on r.id = s.run_id where r.automation_id = $1 and ${state}`;
        return (await product.database.pool.query(sql, [id])).rows.length > 0;
      };
      return { answer, has };
    };
    const flow = await execute({ id: 'each', type: 'map', items: '[1]', steps: [telling()] });
    await until('the step of a flow waits', () => flow.has('run_wait', `s.type = 'slot' and s.state = 'open'`));
    const list = await execute(telling());
    await until('the step of a list runs', () => list.has('run_step', `s.status = 'running'`));
    expect(await underWay()).toBe(count);
    await hold.release();
    const done = { channel: message.channel };
    expect((await flow.answer).body.data).toMatchObject({
      status: 'completed',
      output: { result: { outputs: [done] } },
    });
    expect((await list.answer).body.data).toMatchObject({ status: 'completed', output: { result: done } });
    for (const { status: answered } of await Promise.all(busy)) expect(answered).toBe(200);
  });

  test('too long a payload fails it before anything is asked', async () => {
    const payload = { ...message, blocks: Array.from({ length: 30 }, () => ({ text: '{{input}}' })) };
    const { error } = await run([telling(payload)], connected, { input: 'x'.repeat(100_000) });
    expect(error.code).toBe('expression_error');
  });

  test('can be cancelled while it is performed', async () => {
    const { id } = await makeWorkflow(connected, { steps: [telling({ ...message, text: 'sandbox:slow=20' })] });
    const { runId } = (await connected.post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, inB)).body.data;
    const read = async () => (await connected.get(`/api/v1/runs/${runId}`, inB)).body.data;
    await until('it is performed', async () => (await read()).stepResults[0]?.status === 'running');
    await connected.post(`/api/v1/runs/${runId}/cancel`);
    expect((await read()).stepResults[0].status).toBe('cancelled');
    const { rows } = await product.database.pool.query('select correlation_id from run where id = $1', [
      runIds.parse(runId),
    ]);
    await until('the action has ended', async () => {
      const open = `select from integration_action where status = 'processing' and correlation_id = $1`;
      return (await product.database.pool.query(open, [rows[0].correlation_id])).rows.length === 0;
    });
  });

  // The last one: it ends the connection.
  test('whose access is refused fails with auth_expired, and so does the next one', async () => {
    const expiring = await run([telling({ ...message, text: 'sandbox:auth_expired' })], connected);
    const next = await run([telling()], connected);
    expect([expiring.error.code, next.error.code]).toEqual(['auth_expired', 'auth_expired']);
  });
});

describe('a step of type action', () => {
  test('fails when its integration is not connected, and sends no request', async () => {
    const { status, error, stepResults } = await run([telling()]);
    expect([status, error.stepId, error.code, stepResults[0].attempts]).toEqual(['failed', 'tell', 'not_connected', 1]);
    expect([stepResults[0].status, stepResults[0].provider]).toEqual(['failed', undefined]);
  });

  test.each([
    ['no integration', { integration: undefined }, 'steps.0.integration'],
    ['an unknown integration', { integration: 'fax' }, 'steps.0.integration'],
    ['an unknown action', { action: 'constructor' }, 'steps.0.action'],
    ['no payload', { payload: undefined }, 'steps.0.payload'],
    ['a payload that is no object', { payload: [] }, 'steps.0.payload'],
    ['a payload without its channel', { payload: { text: 'Hello' } }, 'steps.0.payload.channel'],
    ['a payload with a wrong member', { payload: { ...message, blocks: [1] } }, 'steps.0.payload.blocks.0'],
  ])('with %s is refused when it is saved', async (_, more, path) => {
    const { status, body } = await api.post('/api/v1/workflows', { name: 'x', steps: [telling(message, more)] });
    expect([status, body.error.code, body.error.details.errors[0].path]).toEqual([400, 'validation_error', path]);
  });

  test('may have templates where values are checked, and is warned of those that mean nothing', async () => {
    const text = 'x'.repeat(1_000);
    const payload = {
      triggerId: '{{input}}',
      view: { type: '{{kind}}', title: { type: 'plain_text', text }, blocks: [] },
    };
    const opening = telling(payload, { action: 'open_modal' });
    const { status, body } = await api.post('/api/v1/workflows', { name: 'x', steps: [opening] });
    expect([status, body.error.details.errors.map(({ path }: { path: string }) => path)]).toEqual([
      400,
      ['steps.0.payload.view.title.text'],
    ]);
    const saved = await api.post(
      '/api/v1/workflows',
      { name: 'x', steps: [telling({ ...message, text: '{{steps.later.output}}' }, { temperature: 1 })] },
      inB,
    );
    expect([saved.status, saved.body.data.warnings]).toEqual([
      201,
      [
        expect.objectContaining({ path: 'steps.0.temperature', code: 'unused_field' }),
        expect.objectContaining({ path: 'steps.0.payload', code: 'unknown_step' }),
      ],
    ]);
    const { steps } = (await api.get(`/api/v1/workflows/${saved.body.data.id}`, inB)).body.data;
    expect(steps).toEqual([{ ...telling({ ...message, text: '{{steps.later.output}}' }), name: 'tell' }]);
  });

  test('is saved by keys with the scope integrations alone', async () => {
    const { organizationId } = await product.createTenant({ plan: 'pro' });
    const { key } = await createKey(product.database, {
      organizationId,
      environment: 'test',
      scopes: ['workflows:read', 'workflows:write'],
    });
    const limited = apiClient(product.process.api, key);
    const refusal = { code: 'forbidden', details: { required: 'integrations' } };
    const made = await limited.post('/api/v1/workflows', { name: 'x', steps: [telling()] });
    expect([made.status, made.body.error]).toEqual([403, expect.objectContaining(refusal)]);
    const { id } = (await limited.post('/api/v1/workflows', { name: 'x' })).body.data;
    const changed = await limited.patch(`/api/v1/workflows/${id}`, { steps: [telling()] });
    expect([changed.status, changed.body.error]).toEqual([403, expect.objectContaining(refusal)]);
    expect((await limited.patch(`/api/v1/workflows/${id}`, { steps: [] })).status).toBe(200);
  });
});
