import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { runIds } from '../../src/automation/core/ids.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { newHold } from '../hold.ts';
import { connect, post, request, taskSession } from '../mcp/clients.ts';
import type { Json } from '../openapi/document.ts';
import type { Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { Caller, inB } from './caller.ts';
import { findViolations, modelCalls, openScene } from './oracle.ts';
import { endGrace } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let key: string;
let caller: Caller;
let api: ProductProcess;
let worker: ProductProcess;
beforeAll(async () => {
  ({ product } = await openScene());
  key = (await product.createTenant({ plan: 'enterprise' })).testKey;
  caller = new Caller(key);
  [api, worker] = await Promise.all([product.start(['api']), product.start(['runs'])]);
});
afterAll(async () => {
  await product.close();
  await Promise.all(gone.map((client) => client.close()));
});

async function replaceApi(): Promise<void> {
  await api.ended;
  await endGrace(product);
  api = await product.start(['api']);
}

const say = (id: string, prompt: string) => ({ id, type: 'prompt', prompt });
const makeWorkflow = (...steps: Record<string, unknown>[]) => makeFlow(product, caller.at(api.api), steps);
/** A person is asked between two calls of a model. */
const withApproval = () =>
  makeWorkflow(
    say('before', 'Say {{input}}'),
    {
      id: 'ask',
      type: 'approval',
      message: 'Refund?',
      approvers: ['ada@example.com'],
      form: { type: 'object', properties: { amount: { type: 'number' } } },
    },
    say('after', 'Say {{steps.ask.output.values.amount}}'),
  );

/** What the person of the client answers, each time that it is asked. */
type Answer = () => Promise<Json>;
const approve = (amount: number): Json => ({ action: 'accept', content: { action: 'approve', amount } });

/** Clients that have gone without a word: a session that is closed cancels the tasks that it started. */
const gone: Client[] = [];

/** The official session of tasks, at the process of the API that lives. */
async function openSession(onAsked: Answer = async () => ({ action: 'cancel' })) {
  const client = await connect(api.api, key, '2026-07-28');
  return { client, session: taskSession(client, { api: api.api, key, onAsked }) };
}
type Reference = Parameters<ReturnType<typeof taskSession>['resumeTask']>[0];

/** Starts a run as a task. @returns what a client keeps of it */
async function start(workflowId: string): Promise<Reference> {
  const { client, session } = await openSession();
  gone.push(client);
  const execution = await session.callTool('run_workflow', { workflowId, input: 'it' });
  if (execution.kind !== 'task') throw new Error('The run is no task.');
  await execution.detach();
  const reference = execution.serializeReference();
  caller.acknowledged.add(runIds.parse(reference.taskId)!);
  return reference;
}

/** Follows a task to its end, with nothing but what was kept of it. */
async function follow(reference: Reference, onAsked?: Answer): Promise<Json> {
  const { client, session } = await openSession(onAsked);
  try {
    const execution = await session.resumeTask(reference);
    return (await execution.settle()).outcome;
  } finally {
    await session.close();
    await client.close();
  }
}

/** The steps for which a model was called, in order. */
const callsOf = ({ taskId }: Reference) =>
  modelCalls(product).flatMap((call) => (call.runId === runIds.parse(taskId) ? [call.stepId] : []));
const violations = () => findViolations({ product, caller, api: api.api });
const approvalsOf = async ({ taskId }: Reference) => {
  const sql = `select status, response -> 'values' as values, response ->> 'channel' as channel from approval where run_id = $1`;
  return (await product.database.pool.query(sql, [runIds.parse(taskId)])).rows;
};

test('killed after the call: another process asks for the same task what was asked meanwhile, and has its result', async () => {
  const task = await start(await withApproval());
  await api.kill();
  // While no process serves the client.
  await until('a person is asked', async () => (await approvalsOf(task)).length > 0);
  await replaceApi();
  const outcome = await follow(task, async () => approve(5));
  expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ type: 'text' }] } });
  expect(outcome.result.isError).toBeUndefined();
  expect(await approvalsOf(task)).toEqual([{ status: 'answered', values: { amount: 5 }, channel: 'mcp' }]);
  expect(await violations()).toEqual([]);
  expect(callsOf(task)).toEqual(['before', 'after']);
});

test.each([
  ['approval.before-commit', [5, 7], 7],
  ['approval.answered', [5], 5],
])(
  'killed at %s, in the answer of a person: the question is asked again or answered, never both',
  async (at, asked, amount) => {
    const task = await start(await withApproval());
    const answers: number[] = [];
    await follow(task, async () => {
      await api.arm(at);
      answers.push(5);
      return approve(5);
    }).catch(() => {});
    await replaceApi();
    const outcome = await follow(task, async () => {
      answers.push(7);
      return approve(7);
    });
    expect(outcome).toMatchObject({ status: 'completed' });
    expect(answers).toEqual(asked);
    expect(await approvalsOf(task)).toEqual([{ status: 'answered', values: { amount }, channel: 'mcp' }]);
    expect(await violations()).toEqual([]);
    expect(callsOf(task)).toEqual(['before', 'after']);
  },
);

test.each(['run.before-commit', 'run.committed'])(
  'killed at %s, in the call: the same call makes one task',
  async (at) => {
    const workflowId = await makeWorkflow(say('only', 'Say {{input}}'));
    const call = () =>
      post(api.api, key, request('tools/call', { name: 'run_workflow', arguments: { workflowId, input: 'it' } }), {
        'idempotency-key': at,
      });
    await api.arm(at);
    await expect(call()).rejects.toThrow();
    await replaceApi();
    const [first, second] = [await call(), await call()];
    expect(first.body.result).toMatchObject({ resultType: 'task' });
    const { taskId } = first.body.result;
    expect(second.body.result.taskId).toBe(taskId);
    caller.acknowledged.add(runIds.parse(taskId)!);
    const ended = await until('the task completes', async () => {
      const { result } = (await post(api.api, key, request('tasks/get', { taskId }))).body;
      return result.status === 'completed' && result;
    });
    expect(ended).toMatchObject({ taskId, result: { content: [{ type: 'text' }] } });
    const { body } = await caller.at(api.api).get(`/api/v1/workflows/${workflowId}/runs`, inB);
    expect(body.data).toMatchObject({ total: 1 });
    expect(await violations()).toEqual([]);
    expect(callsOf({ taskId } as Reference)).toEqual(['only']);
  },
);

test('a worker killed in a step: the task goes on with another worker, from that step', async () => {
  const hold = newHold(product.database);
  const workflowId = await makeWorkflow(
    say('first', 'sandbox:slow=0.1 Say {{input}}'),
    say('second', `${hold.word} Think`),
    say('third', 'Say it'),
  );
  const task = await start(workflowId);
  await until('the second step is under way', async () => callsOf(task).includes('second'));
  const following = follow(task);
  await worker.kill();
  await hold.release();
  worker = await product.start(['runs']);
  expect(await following).toMatchObject({ status: 'completed' });
  expect(await violations()).toEqual([]);
  expect(callsOf(task)).toEqual(['first', 'second', 'second', 'third']);
});
