import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection, type ScheduleHandle } from '@temporalio/client';
import pg from 'pg';
import type { SweepResult } from '../../src/temporal/contracts/housekeeping.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';

// A start waits for a quiet part of a minute, and for Temporal.
jest.setTimeout(300_000);

const minute = 60_000;
// A product of its own: tests run the sweeps of a whole installation.
let product: Product;
let connection: Connection;
let client: Client;
let schedule: ScheduleHandle;
beforeAll(async () => {
  product = await openProduct();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  client = new Client({ connection });
  schedule = client.schedule.getHandle(`${product.taskQueuePrefix}housekeeping`);
  await product.start(['runs']);
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

/** Workflow, run and due time of what the Schedule started, oldest first. */
const started = async () =>
  (await schedule.describe()).info.recentActions.map(({ scheduledAt, action: { workflow } }) => ({
    dueAt: scheduledAt.getTime(),
    workflowId: workflow.workflowId,
    runId: workflow.firstExecutionRunId,
  }));

/** What the Schedule starts next, and its result. */
async function startOne(how: () => Promise<void>, isOurs: (dueAt: number) => boolean) {
  // The clock starts one at each full minute; a start is skipped while another one runs.
  const isQuiet = async () => {
    const { runningActions } = (await schedule.describe()).info;
    return runningActions.length === 0 && Date.now() % minute > 2_000 && Date.now() % minute < 50_000;
  };
  await until('the clock starts none', isQuiet);
  const before = (await started()).map(({ runId }) => runId);
  await how();
  const { workflowId, runId } = await until('it starts', async () =>
    (await started()).find((one) => isOurs(one.dueAt) && !before.includes(one.runId)),
  );
  return { workflowId, results: (await client.workflow.getHandle(workflowId, runId).result()) as SweepResult[] };
}
const trigger = () =>
  startOne(
    // Also where the clock has just started one.
    () => schedule.trigger('BUFFER_ALL'),
    (dueAt) => dueAt % minute !== 0,
  );
/** A start by the clock, at a time that has passed. */
const tick = (minutesAgo: number) => {
  const dueAt = new Date((Math.floor(Date.now() / minute) - minutesAgo) * minute);
  return startOne(
    () => schedule.backfill([{ start: dueAt, end: dueAt, overlap: 'BUFFER_ALL' }]),
    (at) => at === dueAt.getTime(),
  );
};

/** On a busy machine a sweep may still run when its start ends, after ten seconds, or may be answered too late. */
const isLate = ({ status, failure = '' }: SweepResult) =>
  status === 'running' || (status === 'failed' && /^Failed to |\btime(out|d out)\b/.test(failure));
/** Starts until no sweep is late. */
const inTime = (start: () => ReturnType<typeof startOne>) =>
  until(
    'all sweeps are in time',
    async () => {
      const one = await start();
      return !one.results.some(isLate) && one;
    },
    200_000,
  );

test('the Schedule runs every sweep by name, and what each did is in the web UI', async () => {
  const first = await until('the worker triggers it', async () => (await started())[0]);
  const ofWorker: SweepResult[] = await client.workflow.getHandle(first.workflowId, first.runId).result();
  const { workflowId, results } = ofWorker.some(isLate)
    ? await inTime(trigger)
    : { workflowId: first.workflowId, results: ofWorker };
  expect(results.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'expire credit reservations',
      'mail notices of expiring keys',
      'remove deliveries after their retention',
    ]),
  );
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'done'));
  const metadata = await client.workflow.getHandle(workflowId).query('__temporal_workflow_metadata');
  const { currentDetails } = metadata as { currentDetails: string };
  for (const { name, changed } of results) expect(currentDetails).toContain(`| ${name} | ${changed} changed |`);
});

test('a tick runs what is due, and an operator who triggers the Schedule runs everything', async () => {
  const { results: all } = await inTime(trigger);
  const { results: ticked } = await tick(5);
  const hourly = 'mail notices of expiring keys';
  expect(ticked.find(({ name }) => name === hourly)).toEqual(all.find(({ name }) => name === hourly));
  const { results: again } = await inTime(trigger);
  for (const { name, startedAt } of again) {
    expect(startedAt > ticked.find((before) => before.name === name)!.startedAt).toBe(true);
  }
});

test('a sweep that fails is named with its reason, and the others run', async () => {
  const owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  await owner.query('alter table credit_hold rename to credit_hold_away');
  const { workflowId, results } = await inTime(trigger);
  await owner.query('alter table credit_hold_away rename to credit_hold');
  await owner.end();
  const failed = results.filter(({ status }) => status === 'failed');
  expect(failed).toMatchObject([
    { name: 'expire credit reservations', failure: expect.stringContaining('credit_hold') },
  ]);
  expect(results.filter(({ status }) => status === 'done')).toHaveLength(results.length - 1);
  const metadata = await client.workflow.getHandle(workflowId).query('__temporal_workflow_metadata');
  expect(JSON.stringify(metadata)).toMatch(/expire credit reservations \| \*\*failed\*\*: [^|]*credit_hold/);
  // Due at once, whatever its pace.
  let minutesAgo = 6;
  const { results: after } = await inTime(() => tick(minutesAgo++));
  expect(after.map(({ status }) => status)).toEqual(after.map(() => 'done'));
});

test('a Schedule that an operator paused is not triggered by a worker that starts', async () => {
  await schedule.pause();
  const before = await started();
  const worker = await product.start(['runs']);
  expect(await started()).toEqual(before);
  expect((await schedule.describe()).state.paused).toBe(true);
  await worker.stop();
});
