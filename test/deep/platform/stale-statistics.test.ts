import { afterEach, expect, test } from '@jest/globals';
import { Connection, ServiceError } from '@temporalio/client';
import pg from 'pg';
import { listRuns } from '../../../src/automation/runs/run-list.ts';
import { Scope } from '../../../src/platform/database/scope.ts';
import { openLog } from '../../../src/platform/observability/log.ts';
import { type Env, openServices, readEnv, type Services } from '../../../src/services.ts';
import { listHistory } from '../../../src/studio/history.ts';
import type { TemporalClient } from '../../../src/temporal/client.ts';
import { DeadLetterWorkflows } from '../../../src/webhooks/dead-letters/dead-letter-workflows.ts';
import { listDeliveries } from '../../../src/webhooks/deliveries/delivery-list.ts';
import { leaseDue } from '../../../src/webhooks/dispatch/lease.ts';
import { firstId, insertManyRows, prepareTables } from '../../platform/many-rows.ts';
import { runningServers } from '../../servers.ts';
import { createTestDatabase } from '../../test-database.ts';
import { until } from '../../until.ts';

/*
 * What PostgreSQL reads for work across tenants and for lists, where its statistics are missing, or of a time when the tables
 * were nearly empty, or where a connection keeps the plans that it made then. Buffers are counted and not time.
 */

const few = { organizations: 2, webhooks: 10, deliveriesOfWebhook: 5, runs: 20, ofFirst: 10, entries: 10, jobs: 10 };
const many = {
  organizations: 200,
  webhooks: 1_000,
  deliveriesOfWebhook: 100,
  runs: 40_000,
  ofFirst: 20_000,
  entries: 20_000,
  jobs: 20_000,
};

let close: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const one of close.reverse()) await one();
  close = [];
});

interface Filled {
  env: Env;
  client: pg.Client;
}

/** A database without autovacuum. */
async function open(): Promise<Filled> {
  const { url, ownerUrl, drop } = await createTestDatabase();
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  close.push(drop, () => client.end());
  await prepareTables(client);
  return { env: readEnv({ DATABASE_URL: url, TEMPORAL_ADDRESS: runningServers().temporalAddress }), client };
}

async function openFor(env: Env): Promise<Services> {
  const connection = Connection.lazy({ address: env.TEMPORAL_ADDRESS });
  close.push(() => connection.close());
  return openServices(env, openLog('silent', 'test'), { connection, installationGauges: true });
}

async function using<Result>(env: Env, use: (services: Services) => Promise<Result>): Promise<Result> {
  const services = await openFor(env);
  try {
    return await use(services);
  } finally {
    await services.close();
  }
}

async function connected(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  );
  return rows.map(({ pid }) => pid);
}

/** Buffers that were read of all tables and indexes so far, as far as it is reported. */
async function buffersRead(client: pg.Client): Promise<number> {
  await client.query('select pg_stat_force_next_flush(), pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ buffers: number }>(
    `select sum(coalesce(heap_blks_read + heap_blks_hit, 0) + coalesce(idx_blks_read + idx_blks_hit, 0))::float8 as buffers
       from pg_statio_user_tables`,
  );
  return rows[0]!.buffers;
}

/** Parks dead letters until some are. */
async function parkSome({ database, deliveryPolicy, log }: Services): Promise<void> {
  const temporal = new Proxy({}, { get: () => async () => {} }) as TemporalClient;
  const workflows = new DeadLetterWorkflows({ database, temporal, deliveryPolicy, log, isRunAwaited: () => false });
  workflows.start();
  try {
    await until('some are parked', async () => {
      const { rowCount } = await database.pool.query(
        `select from delivery where subscription_id = $1 and parked_at < 'infinity' limit 1`,
        [firstId],
      );
      return rowCount === 1;
    });
  } finally {
    await workflows.stop();
  }
}

const scopeOf = ({ database }: Services) =>
  new Scope(database, { organizationId: firstId, environment: 'test' }, 'statistics');
const page = { limit: 50, offset: 20 };

interface Case {
  /** Buffers at most. */
  allowed: number;
  run(services: Services): Promise<unknown>;
}

/** What is not named here is a sweep, and reads little. */
const cases: Record<string, Case> = {
  // All of the thousand webhooks have deliveries that wait.
  'lease of deliveries': {
    allowed: 40 * many.webhooks,
    run: ({ database, egress, deliveryPolicy }) =>
      leaseDue({ database, egress, deliveryPolicy }, { free: 256, held: () => 0 }),
  },
  'dead letters that are parked': { allowed: 40 * many.webhooks, run: parkSome },
  // 200 entries, a few at a time, of 200 organizations in rotation.
  'drain of the outbox': { allowed: 250_000, run: ({ drain }) => drain() },
  'calling runs': { allowed: 1_000, run: ({ activeRuns, database }) => activeRuns.tend(database) },
  // Up to 10,000 rows each.
  gauges: { allowed: 60_000, run: ({ metrics }) => metrics.text() },
};

const lists: Record<string, (services: Services) => Promise<unknown>> = {
  'runs of a workflow': (services) => listRuns(scopeOf(services), firstId, page),
  'runs of a status': (services) => listRuns(scopeOf(services), firstId, { ...page, status: 'failed' }),
  'completed generations': (services) => listHistory(scopeOf(services), page),
  'deliveries of a webhook': (services) => listDeliveries(scopeOf(services), firstId, page),
  'deliveries of a status': (services) =>
    listDeliveries(scopeOf(services), firstId, { ...page, status: 'dead_lettered' }),
  'deliveries of a type': (services) =>
    listDeliveries(scopeOf(services), firstId, { ...page, eventType: 'workflow.run.completed' }),
};

for (const [name, run] of Object.entries(lists)) cases[name] = { allowed: 2_500, run };

const countsDeliveries = 'count deliveries in blocks';
/** Lists add up what they counted. */
const countsBlocks = [countsDeliveries, 'count ended runs in blocks', 'count ended generations in blocks'];

/** A sweep finds next to nothing to do. */
const sweepAllowed = 6_000;
const sweepsAllowed: Record<string, number> = {
  // One for each that waits, up to 2,000 of a webhook.
  'count deliveries that wait': 70_000,
  // All of them are created anew.
  'restore schedules that were deleted in Temporal': 60 * many.organizations,
  // They lie in one block each, and are counted once.
  [countsDeliveries]: 15_000,
  // Most of what waits for another delivery does so without need, and is written.
  'release deliveries that wait for no other': 40_000,
  // All of the thousand webhooks have deliveries that wait.
  'end deliveries of webhooks that are off': 15 * many.webhooks,
};

/** A sweep that Temporal was too busy to answer comes again: what it had done by then is hardly read again. */
const unlessTemporalIsBusy = (sweep: () => Promise<void>) =>
  until('the sweep is done', () =>
    sweep().then(
      () => true,
      (error) => {
        if (error instanceof ServiceError) return false;
        throw error;
      },
    ),
  );

/** Sweeps come first: some count what lists need. */
async function everyCase(env: Env): Promise<[name: string, Case][]> {
  const names = await using(env, async ({ sweeps }) => sweeps.map(({ name }) => name));
  const sweeps = names.map((name): [string, Case] => [
    name,
    {
      allowed: sweepsAllowed[name] ?? sweepAllowed,
      run: (services) =>
        unlessTemporalIsBusy(async () => {
          await services.sweeps.find((sweep) => sweep.name === name)!.run();
        }),
    },
  ]);
  return [...sweeps, ...Object.entries(cases)];
}

const without = (all: number[], others: number[]) => all.filter((one) => !others.includes(one));

/** Connections report what they read when they end: what is measured next would count it. */
const areEnded = (client: pg.Client, connections: number[]) =>
  until(
    'the connections have ended',
    async () => without(connections, await connected(client)).length === connections.length,
  );

/**
 * One call of a sweep has an end, and a block of deliveries is counted once no transaction is open that may not know it: in
 * any database of the server, other tests' too.
 */
async function countAllBlocks(env: Env, client: pg.Client, name: string): Promise<void> {
  const before = await connected(client);
  let own: number[] = [];
  await using(env, async ({ sweeps }) => {
    await until('all blocks are counted', async () => {
      const counted = await sweeps.find((sweep) => sweep.name === name)!.run();
      const { rowCount } = await client.query('select from delivery_block where not is_counted limit 1');
      return counted === 0 && (rowCount === 0 || name !== countsDeliveries);
    });
    own = without(await connected(client), before);
  });
  await areEnded(client, own);
}

/** @param prepare opens what runs a case, before the tables are filled */
async function expectFewBuffers(
  { env, client }: Filled,
  prepare: (one: Case) => Promise<Services> = () => openFor(env),
): Promise<void> {
  const all = await everyCase(env);
  const prepared: { services: Services; own: number[] }[] = [];
  for (const [, one] of all) {
    const others = await connected(client);
    const services = await prepare(one);
    prepared.push({ services, own: without(await connected(client), others) });
  }
  await insertManyRows(client, many);
  await client.query('select pg_stat_force_next_flush()');
  const excess: Record<string, { buffers: number; allowed: number }> = {};
  for (const [nth, [name, { allowed, run }]] of all.entries()) {
    const { services, own } = prepared[nth]!;
    const buffersBefore = await buffersRead(client);
    const before = await connected(client);
    await run(services);
    const mine = [...own, ...without(await connected(client), before)];
    await services.close();
    await areEnded(client, mine);
    const buffers = (await buffersRead(client)) - buffersBefore;
    if (buffers > allowed) excess[name] = { buffers, allowed };
    if (countsBlocks.includes(name)) await countAllBlocks(env, client, name);
  }
  expect(excess).toEqual({});
}

test('tables that were never analyzed', async () => expectFewBuffers(await open()));

test('tables that were analyzed when they were nearly empty', async () => {
  const filled = await open();
  await insertManyRows(filled.client, few);
  await filled.client.query('analyze');
  await expectFewBuffers(filled);
});

test('connections that made their plans when the tables were nearly empty', async () => {
  const filled = await open();
  const { env, client } = filled;
  const { rows } = await client.query('select current_database() as name');
  await client.query(`alter database ${rows[0].name} set plan_cache_mode = force_generic_plan`);
  await insertManyRows(client, few);
  await expectFewBuffers(filled, async ({ run }) => {
    const services = await openFor(env);
    await run(services);
    return services;
  });
});

test('lists of deliveries that were counted in a thousand blocks', async () => {
  const { env, client } = await open();
  await insertManyRows(client, few);
  await client.query(
    `insert into delivery_block (subscription_id, ends_at, ends_id, organization_id, environment, is_counted)
     select $1, now() - make_interval(mins => n), uuidv7(), $1, 'test', true from generate_series(1, 1000) n`,
    [firstId],
  );
  await client.query(
    `insert into delivery_block_count (subscription_id, ends_at, ends_id, event_type, organization_id, environment, pending,
                                       retrying, dead_lettered, delivered, failed)
     select subscription_id, ends_at, ends_id, type, organization_id, environment, 1, 2, 3, 4, 5
       from delivery_block, unnest(array['workflow.run.completed', 'workflow.run.failed', 'video.completed']) type
      where subscription_id = $1 and is_counted`,
    [firstId],
  );
  const services = await openFor(env);
  const scope = scopeOf(services);
  const [eventType, status] = ['workflow.run.failed', 'failed'] as const;
  const totalOf = async (filter: object) => (await listDeliveries(scope, firstId, { ...page, ...filter })).total;
  const buffersBefore = await buffersRead(client);
  const before = await connected(client);
  const totals = [await totalOf({}), await totalOf({ eventType }), await totalOf({ status, eventType })];
  const own = without(await connected(client), before);
  await services.close();
  await areEnded(client, own);
  // Beside the blocks there are a few deliveries that none has.
  expect(totals.map((total) => total - (total % 1_000))).toEqual([45_000, 15_000, 5_000]);
  expect((await buffersRead(client)) - buffersBefore).toBeLessThan(totals.length * 2_000);
});
