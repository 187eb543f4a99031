import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { findFreePort } from '../../local/ports.ts';
import { queues } from '../../src/temporal/contracts/queues.ts';
import { webhookWorkflows } from '../../src/temporal/contracts/webhooks.ts';
import { type ChildProgram, startChildProgram } from '../child-program.ts';
import type { Cleanup } from '../cleanup.ts';
import { cpuBetween } from '../cpu-meter.ts';
import type { Finding, Item, Row, Verdict } from '../item.ts';
import { openNeighbour } from '../neighbour.ts';
import type { ProductClient } from '../product-client.ts';
import type { ReceiverOrder } from '../programs/webhook-receiver.ts';
import type { Stand } from '../stand.ts';
import { percentile } from '../statistics.ts';
import { announceMany, subscribe } from '../webhook-subscriptions.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const rounds = 5;
const roundMs = 4_000;
/** So that one run's work is over before the next. */
const pauseMs = 10;

const stormEvents = 1_000;
const refusedWebhooks = 100;
const refusedDeliveries = 2_500;
const letters = 2_000;
const parkedDeadLetters = 1_000;
const restMs = 30_000;
/** Waits for the end of earlier work of the installation, such as the sweeps of ended runs. */
const calmMs = 10_000;
/** For what needs some time to come about. */
const patienceMs = 240_000;

interface Scene {
  stand: Stand;
  pool: pg.Pool;
  temporal: Client;
  receiver: ChildProgram;
  /** Executes a run to its end and waits for its answer. */
  run(): Promise<void>;
}

/** How long runs took, in ms, round by round. */
type Measured = number[][];

/** P24: the effect of failing deliveries on a tenant's runs, and the cost of those deliveries while they wait. */
export const besideFailures: Item = {
  name: 'P24',
  title: 'synchronous run of one step, p95, beside deliveries that fail / the same without; CPU at rest',
  needs: 'stand',
  async run(stand, cleanup) {
    const scene = await openScene(stand, cleanup);
    await measure(scene);
    const atRest = await coresAtRest(scene);
    return [
      await besideStorm(scene, cleanup),
      await besideRefused(scene, cleanup, atRest),
      await besideReplay(scene, cleanup),
    ];
  },
};

async function openScene(stand: Stand, cleanup: Cleanup): Promise<Scene> {
  const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 2 });
  cleanup.add(() => pool.end());
  const connection = await Connection.connect({ address: stand.temporal.address });
  cleanup.add(() => connection.close());
  const receiver = await startChildProgram({
    program: 'webhook-receiver.ts',
    args: [],
    logFile: stand.file('failing-receiver.log'),
  });
  cleanup.add(() => receiver.stop());
  const workflow = await createWorkflowOfSteps(stand, 1);
  return { stand, pool, receiver, temporal: new Client({ connection }), run: () => executeToEnd(stand, workflow) };
}

async function measure({ run }: Scene): Promise<Measured> {
  const measured: Measured = [];
  for (let round = 0; round < rounds; round++) {
    const times: number[] = [];
    for (const until = performance.now() + roundMs; performance.now() < until; ) {
      const began = performance.now();
      await run();
      times.push(performance.now() - began);
      await sleep(pauseMs);
    }
    measured.push(times);
  }
  return measured;
}

const p95 = (measured: Measured) => measured.map((times) => percentile(times, 0.95));

function findingOf(what: string, quiet: Measured, beside: Measured, rows: Row[] = [], more: Verdict[] = []): Finding {
  const [before, during] = [p95(quiet), p95(beside)];
  return {
    rows: [
      { name: `${what}: p95, quiet`, unit: 'ms', values: before },
      { name: `${what}: p95, beside`, unit: 'ms', values: during },
      ...rows,
    ],
    verdicts: [
      {
        name: `${what}: p95, beside / quiet`,
        values: during.map((ms, n) => ms / before[n]!),
        aim: { atMost: 1.5 },
      },
      { name: `${what}: longest, ms`, values: [Math.max(...beside.flat())], aim: { atMost: 1_000 } },
      ...more,
    ],
  };
}

async function eventually(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > until) throw new Error(`Within ${patienceMs / 1_000} s it is not so that ${what}.`);
    await sleep(250);
  }
}

const order = ({ receiver }: Scene, given: ReceiverOrder) => receiver.ask(given);

const isNone =
  ({ pool }: Scene, ids: string[], condition: string) =>
  async () =>
    !(await pool.query(`select from delivery where subscription_id = any($1::uuid[]) and ${condition} limit 1`, [ids]))
      .rowCount;

async function subscribeMany(client: ProductClient, urls: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const url of urls) ids.push(await subscribe(client, url));
  return ids;
}

/** These webhooks leave no work to the next measurement. */
async function remove(scene: Scene, client: ProductClient, ids: string[]): Promise<void> {
  for (const id of ids) await client.send('DELETE', `/api/v1/webhooks/${id}`);
  await eventually('nothing waits', isNone(scene, ids, "status in ('pending', 'retrying')"));
}

/** (a) A thousand events at a time for two receivers that fail every second attempt. */
async function besideStorm(scene: Scene, cleanup: Cleanup): Promise<Finding> {
  const { stand, pool, receiver } = scene;
  const neighbour = await openNeighbour(stand);
  cleanup.add(() => neighbour.close());
  await order(scene, { mended: false });
  const ids = await subscribeMany(
    neighbour,
    [1, 2].map((n) => `${receiver.ready.url}/flap/storm-${n}`),
  );
  const quiet = await measure(scene);
  let isOver = false;
  let announced = 0;
  const storm = async () => {
    for (; !isOver; announced++) {
      await announceMany(pool, ids, stormEvents * ids.length);
      await sleep(roundMs);
    }
  };
  const raging = storm();
  const beside = await measure(scene);
  isOver = true;
  await raging;
  await order(scene, { mended: true });
  await remove(scene, neighbour, ids);
  const events = { name: 'storm: events for two webhooks', unit: '', values: [announced * stormEvents] };
  return findingOf('storm', quiet, beside, [events]);
}

/** CPU of all processes of the idle installation, in cores. */
async function coresAtRest({ stand: { meter } }: Scene): Promise<number> {
  await sleep(calmMs);
  const before = meter.read();
  await sleep(restMs);
  const cost = cpuBetween(before, meter.read());
  const names = ['product', 'temporal', 'postgres'];
  return names.reduce((sum, name) => sum + (cost?.byName.get(name) ?? Number.NaN), 0) / restMs;
}

/** (b) Many webhooks of a port that refuses, and what they cost when everything waits. */
async function besideRefused(scene: Scene, cleanup: Cleanup, atRest: number): Promise<Finding> {
  const { stand, pool } = scene;
  const neighbour = await openNeighbour(stand);
  cleanup.add(() => neighbour.close());
  const port = await findFreePort();
  const urls = Array.from({ length: refusedWebhooks }, (_, n) => `http://127.0.0.1:${port}/${n}`);
  const ids = await subscribeMany(neighbour, urls);
  const quiet = await measure(scene);
  await announceMany(pool, ids, refusedDeliveries);
  const beside = await measure(scene);

  const dead = await openNeighbour(stand);
  cleanup.add(() => dead.close());
  const deadIds = await makeDeadLetters(scene, dead, parkedDeadLetters, `http://127.0.0.1:${port}/dead`);
  const unparked = "status = 'dead_lettered' and (parked_at is null or not isfinite(parked_at))";
  await eventually(`${parkedDeadLetters} dead letters are parked`, isNone(scene, deadIds, unparked));
  const waiting = await coresAtRest(scene);
  await remove(scene, neighbour, ids);
  await remove(scene, dead, deadIds);
  const what = `${refusedDeliveries} retries wait and ${parkedDeadLetters} letters are parked`;
  return findingOf(
    'refused',
    quiet,
    beside,
    [{ name: 'at rest: nothing waits', unit: 'cores', values: [atRest] }],
    [{ name: `at rest: cores, ${what}`, values: [waiting], aim: { atMost: 0.05 } }],
  );
}

/** @returns the id of their webhook */
async function makeDeadLetters(scene: Scene, client: ProductClient, count: number, url: string): Promise<string[]> {
  const ids = [await subscribe(client, url)];
  await client.send('PATCH', `/api/v1/webhooks/${ids[0]}`, { maxAttempts: 1 });
  await announceMany(scene.pool, ids, count);
  // An open breaker lets one attempt begin every 30 seconds.
  const close = `update webhook_subscription set next_probe_at = null, consecutive_failures = 0 where id = any($1::uuid[])`;
  await eventually('all are dead letters', async () => {
    await scene.pool.query(close, [ids]);
    return isNone(scene, ids, "status in ('pending', 'retrying')")();
  });
  return ids;
}

/** (c) A replay of thousands of dead letters at once, whose receiver takes them now. */
async function besideReplay(scene: Scene, cleanup: Cleanup): Promise<Finding> {
  const { stand, receiver, temporal } = scene;
  const neighbour = await openNeighbour(stand);
  cleanup.add(() => neighbour.close());
  await order(scene, { mended: false });
  const ids = await makeDeadLetters(scene, neighbour, letters, `${receiver.ready.url}/fail/replayed`);
  await order(scene, { mended: true });
  const quiet = await measure(scene);
  const redrive = await temporal.workflow.start(webhookWorkflows.redriveDeadLetters, {
    workflowId: 'bench-redrive',
    taskQueue: queues.webhooks.name,
    args: [{ webhookId: ids[0], perSecond: letters }],
  });
  const beside = await measure(scene);
  const { replayed } = (await redrive.result()) as { replayed: number };
  await eventually('all are delivered', isNone(scene, ids, "status <> 'delivered'"));
  await remove(scene, neighbour, ids);
  return findingOf('replay', quiet, beside, [{ name: 'replay: dead letters', unit: '', values: [replayed] }]);
}
