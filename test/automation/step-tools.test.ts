import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { automationLimits } from '../../src/automation/core/limits.ts';
import { ActiveRunLimiter } from '../../src/automation/runs/active-run-limiter.ts';
import { callStepTool } from '../../src/automation/steps/call-step-tool.ts';
import { forgetRounds } from '../../src/automation/steps/tool-rounds.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { followEvents } from '../event-stream.ts';
import { newHold } from '../hold.ts';
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

const newTenant = async (plan = 'pro') => {
  const { testKey, organizationId } = await product.createTenant({ plan });
  return { api: apiClient(product.process.api, testKey), organizationId: organizationIds.parse(organizationId)! };
};
const using = (prompt: string, ...tools: string[]) => ({ id: 'say', type: 'prompt', prompt, tools });
const entity = { name: 'Ada', entityType: 'person', observations: ['wrote programs'] };
const remember = `sandbox:tool=memory_create_entities ${JSON.stringify({ entities: [entity] })} sandbox:tool=memory_read_graph`;

const start = async (steps: object[], on = api, body: object = {}): Promise<string> => {
  const { id } = await makeWorkflow(on, { steps });
  return (await on.post(`/v1/workflows/${id}/execute`, { ...body, async: true }, { 'x-api-variant': 'A' })).body.data
    .runId;
};
const detailOf = async (runId: string, on = api) => (await on.get(`/v1/runs/${runId}`, inB)).body.data;

/** Runs the steps to their end. */
async function run(steps: object[], on = api, body: object = {}) {
  return endOf(on, await start(steps, on, body));
}

describe('a step with tools', () => {
  test('calls them, shows them in its result, and costs no credits', async () => {
    const { api: own } = await newTenant();
    const { balance } = (await own.get('/api/v1/credits')).body.data;
    const after = { id: 'after', type: 'transform', expression: 'size(steps.say.output) > 0' };
    const { status, stepResults, runId, output } = await run([using(remember, 'memory', 'memory'), after], own);
    expect(status).toBe('completed');
    const [said, checked] = stepResults;
    expect(said).toMatchObject({ status: 'completed', attempts: 1, provider: 'ANTHROPIC' });
    expect(said.toolCalls).toEqual([
      { name: 'memory_create_entities', args: { entities: [entity] }, result: expect.stringContaining('Ada') },
      { name: 'memory_read_graph', args: {}, result: expect.stringContaining('wrote programs') },
    ]);
    expect(output.steps.say).toContain(said.toolCalls[1].result);
    expect([checked.output, checked.toolCalls]).toEqual([true, undefined]);
    const inA = (await own.get(`/v1/runs/${runId}`, { 'x-api-variant': 'A' })).body.data;
    expect(inA.steps[0].toolCalls).toEqual(said.toolCalls);
    // Three questions to the model are counted, each once.
    expect(inA.tokensUsed).toBe(said.tokensUsed);
    const usage = (await own.get('/api/v1/usage')).body.data;
    expect(usage.tokens).toBe(said.tokensUsed);
    expect((await own.get('/api/v1/credits')).body.data.balance).toBe(balance);
  });

  test('goes on when a tool fails, takes values of the run, and is asked again without an attempt too many', async () => {
    const missing = 'sandbox:tool=filesystem_read_text_file {"path":"/{{input}}.txt"}';
    const { stepResults } = await run([using(`${missing} sandbox:overloaded`, 'filesystem')], api, { input: 'none' });
    const [{ toolCalls, attempts, status }] = stepResults;
    expect([status, toolCalls.length, toolCalls[0].args]).toEqual(['completed', 1, { path: '/none.txt' }]);
    expect(attempts).toBe(3);
  });

  test('that asks for tools again and again ends after eight rounds, with what there is', async () => {
    const nine = Array.from({ length: 9 }, () => 'sandbox:tool=memory_read_graph').join(' ');
    const { status, stepResults } = await run([using(nine, 'memory')]);
    expect([status, stepResults[0].toolCalls.length, stepResults[0].attempts]).toEqual(['completed', 8, 1]);
    expect(stepResults[0].output).toContain(stepResults[0].toolCalls[7].result);
  });

  test('that has taken too long is asked to answer, without tools', async () => {
    const hold = newHold(product.database);
    const slow = `sandbox:tool=github_search_repositories {"query":"${hold.word}"}`;
    const age = `update run_step set started_at = started_at - interval '11 minutes' where run_id = $1`;
    const shownId = await start([using(`${slow} sandbox:tool=memory_read_graph`, 'github', 'memory')]);
    await until('the tool is called', async () => (await detailOf(shownId)).stepResults[0]?.toolCalls);
    await product.database.pool.query(age, [runIds.parse(shownId)]);
    await hold.release();
    const { status, stepResults } = await endOf(api, shownId);
    expect([status, stepResults[0].toolCalls.length]).toEqual(['completed', 1]);
    expect(stepResults[0].output).toContain(stepResults[0].toolCalls[0].result);
  });

  test('calls nothing that it was not offered', async () => {
    const { stepResults } = await run([using('sandbox:tool=sqlite_list_tables sandbox:tool=nothing', 'memory')]);
    expect([stepResults[0].status, stepResults[0].toolCalls]).toEqual(['completed', undefined]);
  });

  test('makes its answer fit a schema', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const step = { ...using('sandbox:tool=memory_read_graph', 'memory'), outputSchema };
    const { status, output, stepResults } = await run([step]);
    expect([status, typeof output.result.n, stepResults[0].toolCalls.length]).toEqual(['completed', 'number', 1]);
  });

  test('is nothing that another tenant sees', async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    await run([using(remember, 'memory')], one.api);
    const { stepResults } = await run([using('sandbox:tool=memory_read_graph', 'memory')], other.api);
    expect(stepResults[0].toolCalls[0].result).not.toContain('Ada');
  });

  test('keeps and shows no more than may be shown, however much its model writes', async () => {
    const large = `sandbox:tool=github_search_repositories ${JSON.stringify({ query: 'x'.repeat(100_000) })}`;
    const { stepResults } = await run([using(large, 'github'), { ...using(remember, 'memory'), id: 'b' }]);
    expect(stepResults[0].toolCalls).toEqual([
      { name: 'github_search_repositories', args: null, result: expect.any(String) },
    ]);
    expect(stepResults[1].toolCalls[0].args).toEqual({ entities: [entity] });
    const read = Array.from({ length: 8 }, () => 'sandbox:tool=filesystem_read_text_file {"path":"/large.txt"}');
    const write = `sandbox:tool=filesystem_write_file ${JSON.stringify({ path: '/large.txt', content: 'y'.repeat(60_000) })}`;
    const steps = [using(write, 'filesystem'), { ...using(read.join(' '), 'filesystem'), id: 'r' }];
    const { stepResults: many } = await run([...steps, { ...steps[1], id: 's' }]);
    const lengths = many[1].toolCalls.map(({ result }: { result: string | null }) => result?.length ?? 0);
    expect([lengths.length, Math.max(...lengths)]).toEqual([8, 32 * 1024]);
    expect(many[2].toolCalls.at(-1)).toMatchObject({ args: null, result: null });
    const shown = JSON.stringify(many.map(({ toolCalls }: { toolCalls: object[] }) => toolCalls));
    expect(Buffer.byteLength(shown)).toBeLessThan(300 * 1024);
  });

  test('waits when its place was taken, and is given up when its calls are too large together', async () => {
    const roundsOf = async (runId: string) => {
      const { rows } = await product.database.pool.query('select from run_step_round where run_id = $1', [runId]);
      return rows.length;
    };
    const hold = newHold(product.database);
    const { api: own, organizationId } = await newTenant('free');
    const shownId = await start(
      [using(`sandbox:tool=github_search_repositories {"query":"${hold.word}"}`, 'github')],
      own,
    );
    await until('the tool is called', async () => (await detailOf(shownId, own)).stepResults[0]?.toolCalls);
    const runId = runIds.parse(shownId)!;
    const scope = new Scope(product.database, { organizationId, environment: 'test' }, randomUUID());
    const limiter = new ActiveRunLimiter();
    const others = Array.from({ length: automationLimits.callingRuns.of('free') }, () => newId());
    for (const id of others) await limiter.claim(scope, id);
    await limiter.release(scope, runId);
    const unused = () => Promise.reject(new Error('Nothing is called.'));
    const services = { activeRuns: limiter, tools: { call: unused, list: unused } };
    const call = { runId, position: 0, round: 1, call: 0 };
    const toolScope = { scope, isTrial: false };
    const { kind } = await callStepTool(services, scope, toolScope, call, new AbortController().signal);
    for (const id of others) await limiter.release(scope, id);
    expect(kind).toBe('wait');

    await forgetRounds(product.database);
    expect(await roundsOf(runId)).toBe(2);
    await product.database.pool.query(
      `insert into run_step_call (run_id, position, round, call, organization_id, environment, name, attempts, result, is_error)
       values ($1, 1, 1, 0, $2, 'test', 'large', 1, repeat('x', 17 * 1024 * 1024), false)`,
      [runId, organizationId],
    );
    await hold.release();
    const failed = await endOf(own, shownId);
    expect([failed.status, failed.error.code]).toEqual(['failed', 'output_too_large']);
    expect(failed.stepResults[0].toolCalls).toHaveLength(1);
    await forgetRounds(product.database);
    expect(await roundsOf(runId)).toBe(0);
  });

  test('is taken over by a retry without its calls, is streamed, and is removed with its workflow', async () => {
    const steps = [
      using('sandbox:tool=memory_read_graph', 'memory'),
      { id: 'b', type: 'transform', expression: 'input.x' },
    ];
    const { id } = await makeWorkflow(api, { steps });
    const failedId = (await api.post(`/v1/workflows/${id}/execute`, { inputs: {} }, inB)).body.data.runId;
    await until('it fails', async () => (await detailOf(failedId)).status === 'failed');
    const retried = (await api.post(`/v1/runs/${failedId}/retry`, {}, inB)).body.data.runId;
    const [first] = await until('it fails again', async () => {
      const { status, stepResults } = await detailOf(retried);
      return status === 'failed' && stepResults;
    });
    expect([first.status, first.attempts, first.toolCalls]).toEqual(['completed', 0, undefined]);
    const { events } = await followEvents(`${product.process.api}/v1/runs/${failedId}/events`, product.tenant.testKey);
    for await (const { name, data } of events) {
      if (name === 'step.completed') expect(data.toolCalls).toMatchObject([{ name: 'memory_read_graph', args: {} }]);
    }
    await api.delete(`/api/v1/workflows/${id}`);
    await until('everything is gone', async () => {
      const left = 'select from run_step_call where run_id = $1';
      return (await product.database.pool.query(left, [runIds.parse(failedId)])).rows.length === 0;
    });
  });

  test('can be cancelled while a tool is called, and gives up its place', async () => {
    const { api: own, organizationId } = await newTenant('free');
    const slow = 'sandbox:tool=github_search_repositories {"query":"sandbox:slow=20"}';
    const runId = await start([using(slow, 'github')], own);
    const begun = await until('the tool is called', async () => (await detailOf(runId, own)).stepResults[0]?.toolCalls);
    expect(begun).toEqual([{ name: 'github_search_repositories', args: { query: 'sandbox:slow=20' }, result: null }]);
    const { body } = await own.post(`/api/v1/runs/${runId}/cancel`, undefined, inB);
    expect(body.data.status).toBe('cancelled');
    const { stepResults } = await detailOf(runId, own);
    expect([stepResults[0].status, stepResults[0].toolCalls]).toEqual(['cancelled', begun]);
    // What its model was asked before is counted.
    expect((await own.get('/api/v1/usage')).body.data.tokens).toBe(stepResults[0].tokensUsed);
    await until('it has no place any more', async () => {
      const held = 'select from calling_run where organization_id = $1';
      return (await product.database.pool.query(held, [organizationId])).rows.length === 0;
    });
  });
});

describe('the servers of a step', () => {
  test.each([
    [['nothing'], 'steps.0.tools.0', 'nothing is not a tool server.'],
    [['memory', 'Memory'], 'steps.0.tools.1', 'Memory is not a tool server.'],
  ])('%j: are refused when they are unknown', async (tools, path, message) => {
    const { status, body } = await api.post('/api/v1/workflows', { name: 'x', steps: [using('x', ...tools)] });
    expect([status, body.error.code, body.error.details.errors]).toEqual([
      400,
      'validation_error',
      [{ path, message }],
    ]);
  });

  test('are refused when a live key has not configured them, also when a workflow is changed', async () => {
    const { liveKey } = await product.createTenant({ plan: 'pro' });
    const live = apiClient(product.process.api, liveKey);
    const steps = [using('x', 'memory'), { ...using('x', 'memory', 'slack'), id: 'b' }];
    const { status, body } = await live.post('/api/v1/workflows', { name: 'x', steps });
    expect([status, body.error.details.errors]).toEqual([
      400,
      [
        { path: 'steps.0.tools.0', message: 'memory is not configured.' },
        { path: 'steps.1.tools.0', message: 'memory is not configured.' },
        { path: 'steps.1.tools.1', message: 'slack is not configured.' },
      ],
    ]);
    const made = await live.post('/api/v1/workflows', { name: 'x' });
    const changed = await live.patch(`/api/v1/workflows/${made.body.data.id}`, { steps });
    expect(changed.status).toBe(400);
    await live.request('PUT', '/api/v1/tools/memory', {});
    expect((await live.patch(`/api/v1/workflows/${made.body.data.id}`, { steps: [steps[0]] })).status).toBe(200);
  });
});
