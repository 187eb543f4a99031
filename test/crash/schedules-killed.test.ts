import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection, ScheduleNotFoundError } from '@temporalio/client';
import { makeWorkflow } from '../automation/make-workflow.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { findViolations, openScene, type Scene } from './oracle.ts';
import { endGrace, successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that goes on with what the one before left is the next to die.
let scene: Scene;
let connection: Connection;
let temporal: Client;
let process: ProductProcess;
beforeAll(async () => {
  [scene, connection] = await Promise.all([
    openScene(),
    Connection.connect({ address: runningServers().temporalAddress }),
  ]);
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await scene.product.close();
});

const yearly = { cron: '30 3 1 2 *', timezone: 'UTC' };

/** A workflow, and what its customer sees of its schedule through a process. */
async function makeScheduled({ api }: ProductProcess) {
  const { caller } = scene;
  const { id } = await makeWorkflow(caller.at(api));
  const path = `/v1/workflows/${id}/schedule`;
  return {
    id,
    put: (at: string, body: object) => caller.at(at).request('PUT', path, body),
    get: (at: string) => caller.at(at).get(path),
    remove: (at: string) => caller.at(at).delete(path),
    runs: async (at: string) => (await caller.at(at).get(`/v1/workflows/${id}/runs`)).body.data.runs,
  };
}

const stateOf = (id: string) =>
  temporal.schedule
    .getHandle(`schedule-${id}`)
    .describe()
    .then(
      ({ state }) => (state.paused ? 'paused' : 'active'),
      // A busy machine may be too late with its answer.
      (error) => (error instanceof ScheduleNotFoundError ? 'none' : 'unknown'),
    );
const untilState = (id: string, state: string, what: string) => until(what, async () => (await stateOf(id)) === state);

test('killed before Temporal was notified: the drain sends it the last state', async () => {
  const { product } = scene;
  let front = await product.start(['api']);
  const schedule = await makeScheduled(front);

  /** Dies with this request, after its commit. */
  const dieDuring = async (request: (at: string) => Promise<unknown>) => {
    await front.arm('schedule.committed');
    await expect(request(front.api)).rejects.toThrow();
    await front.ended;
    await endGrace(product);
  };
  await dieDuring((at) => schedule.put(at, yearly));
  front = await product.start(['api']);
  await dieDuring((at) => schedule.put(at, { ...yearly, paused: true }));
  front = await product.start(['api']);
  await untilState(schedule.id, 'none', 'Temporal has none');
  // It is there, and so are its times, whatever Temporal knows.
  const { data } = (await schedule.get(front.api)).body;
  expect(data).toMatchObject({ ...yearly, paused: true });
  expect(data.nextRunTimes).toHaveLength(5);

  const worker = await product.start(['runs']);
  await untilState(schedule.id, 'paused', 'the drain made it');
  expect((await schedule.get(front.api)).body.data).toEqual(data);

  await worker.stop();
  await dieDuring(schedule.remove);
  await untilState(schedule.id, 'paused', 'Temporal still has it');
  process = await product.start(['api', 'runs']);
  await untilState(schedule.id, 'none', 'the drain removed it');
});

test('killed while it starts the run that is due: another process goes on, and there is one run', async () => {
  const { product, caller } = scene;
  const schedule = await makeScheduled(process);
  await schedule.put(process.api, { ...yearly, input: 'x' });
  await untilState(schedule.id, 'active', 'Temporal has it');
  await process.arm('run.committed');
  await temporal.schedule.getHandle(`schedule-${schedule.id}`).trigger();

  const { api } = await successorOf(process, product, ['api', 'runs']);
  expect(await schedule.runs(api)).toHaveLength(1);
  await until('the firing has ended', async () => (await schedule.get(api)).body.data.lastRunAt !== null);
  expect(await findViolations({ product, caller, api })).toEqual([]);
  const [run, ...more] = await schedule.runs(api);
  expect(more).toEqual([]);
  expect(run.status).toBe('COMPLETED');
});
