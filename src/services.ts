import type { ConnectionLike } from '@temporalio/client';
import { accounts } from './accounts/part.ts';
import { automation } from './automation/part.ts';
import { connections } from './connections/part.ts';
import { conversation } from './conversation/part.ts';
import { credits } from './credits/part.ts';
import type { Foundation } from './foundation.ts';
import { integrations } from './integrations/part.ts';
import { operations } from './operations/part.ts';
import { SweepRunner } from './operations/sweep-runner.ts';
import { BoundedWork } from './platform/bounded-work/bounded-work.ts';
import { Background } from './platform/concurrency/background.ts';
import type { Database } from './platform/database/database.ts';
import { findExcess } from './platform/database/database-login.ts';
import { AuditEntry, IdempotencyRecord, OutboxEntry } from './platform/database/entities.ts';
import { Notifications } from './platform/database/notifications.ts';
import { openDatabase } from './platform/database/open-database.ts';
import { platformRowBounds, type RowBounds } from './platform/database/row-bound.ts';
import { requireServerVersionAt } from './platform/database/server-version.ts';
import { watchStatements } from './platform/database/sql.ts';
import { tenantTablesOf } from './platform/database/tenant-tables.ts';
import { Egress } from './platform/egress/egress.ts';
import { egressRules } from './platform/egress/egress-destination.ts';
import { type PlatformEnv, readEnv as readVariables } from './platform/env.ts';
import type { Log } from './platform/observability/log.ts';
import { Metrics } from './platform/observability/metrics.ts';
import { Probe } from './platform/observability/probe.ts';
import { type Tracing, traceStatements } from './platform/observability/telemetry.ts';
import { type DrainReport, Outbox } from './platform/outbox/outbox.ts';
import { Composition } from './platform/parts/composition.ts';
import { failPoint } from './platform/parts/fail-points.ts';
import type { Sweep } from './platform/parts/part.ts';
import { StepKinds } from './platform/parts/step-kind.ts';
import { Sealer } from './platform/security/crypto.ts';
import { providers } from './providers/part.ts';
import { scheduling } from './scheduling/part.ts';
import { storage } from './storage/part.ts';
import { studio } from './studio/part.ts';
import { TemporalClient } from './temporal/client.ts';
import { tenancy } from './tenancy/part.ts';
import { tools } from './tools/part.ts';
import { voice } from './voice/part.ts';
import { webhooks } from './webhooks/part.ts';

/** The features of the product, each after those it uses. A new feature is one more line here. */
const parts = new Composition<Foundation, object>()
  .with(tenancy)
  .with(accounts)
  .with(credits)
  .with(storage)
  .with(providers)
  .with(connections)
  .with(tools)
  .with(webhooks)
  .with(automation)
  .with(studio)
  .with(conversation)
  .with(voice)
  .with(scheduling)
  .with(integrations)
  .with(operations);

type ServicesOf<Composed> = Composed extends Composition<infer Opened, object> ? Opened : never;
type ValuesOf<Composed> = Composed extends Composition<infer _, infer Values> ? Values : never;

/** The environment of a process, with the variables of every part. */
export type Env = PlatformEnv & ValuesOf<typeof parts>;

/** Everything that a process can use. */
export interface Services extends ServicesOf<typeof parts> {
  env: Env;
  sweeps: readonly Sweep[];
  /** Does the work that committed transactions left. Any number of processes may call it at the same time. */
  drain(): Promise<DrainReport>;
  sweepRunner: SweepRunner;
  /** Connects, and starts timers. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What all parts declare. */
export const { catalog } = parts;

const platformEntities = [OutboxEntry, IdempotencyRecord, AuditEntry];

/** Every table of the product. */
export const entities = [...catalog.entities, ...platformEntities];

/** How the rows of each of them are bounded. */
export const rowBounds: RowBounds = Object.assign({}, catalog.rowBounds, platformRowBounds);

/** The tables that are emptied when an organization is deleted, in this order. */
export const tenantTables = [...catalog.tenantTables, ...tenantTablesOf(platformEntities, platformRowBounds)];

export const eventTypes = [...catalog.events.keys()];

export const failPoints = [...catalog.failPoints, ...failPoint.names];

/** Reads and checks the environment of a process. @throws EnvError naming every bad variable */
export const readEnv = (variables?: Record<string, string | undefined>): Env =>
  readVariables(catalog.settings, variables);

/** The product's database, for programs that need no other service. */
export const openProductDatabase = (url: string, poolSize: number): Promise<Database> =>
  openDatabase({ url, poolSize, entities });

interface ServiceOptions {
  connection: ConnectionLike;
  tracing?: Tracing | undefined;
  /** Whether this process serves the gauges of the whole installation. */
  installationGauges?: boolean;
}

async function openFoundation(
  env: Env,
  log: Log,
  { connection, tracing, installationGauges }: ServiceOptions,
): Promise<Foundation> {
  if (tracing) watchStatements(traceStatements(tracing));
  return {
    env,
    log,
    tracing,
    database: await openProductDatabase(env.DATABASE_URL, env.DATABASE_POOL_SIZE),
    temporal: new TemporalClient({
      connection,
      namespace: env.TEMPORAL_NAMESPACE,
      taskQueuePrefix: env.TEMPORAL_TASK_QUEUE_PREFIX,
      tracing,
    }),
    sealer: new Sealer(env.SEALING_KEYS),
    egress: new Egress(egressRules(env)),
    background: new Background(log),
    boundedWork: new BoundedWork({ log, tasks: catalog.boundedTasks }),
    draining: new AbortController(),
    notifications: new Notifications(env.DATABASE_URL, log),
    metrics: new Metrics(log, installationGauges),
    observer: new Probe(env.DATABASE_URL),
    stepKinds: new StepKinds(),
    events: catalog.events,
    tenantTables,
  };
}

/** Builds everything from the environment: the only place that does. Nothing connects before `start`. */
export async function openServices(env: Env, log: Log, options: ServiceOptions): Promise<Services> {
  const foundation = await openFoundation(env, log, options);
  const { services, outbox: handlers, drains, sweeps, start, close } = await parts.open(foundation);
  const { database, egress, background, boundedWork, notifications, observer } = foundation;
  const outbox = new Outbox({ database, background, log }, handlers, catalog);
  database.outbox = outbox;
  return {
    ...services,
    env,
    sweeps,
    async drain() {
      const reports = await Promise.all([outbox.drain(), ...drains.map((drain) => drain())]);
      return {
        drained: reports.reduce((sum, { drained }) => sum + drained, 0),
        failed: reports.flatMap(({ failed }) => failed),
      };
    },
    sweepRunner: new SweepRunner(sweeps, foundation.log),
    async start() {
      await requireServerVersionAt(env.DATABASE_URL);
      await notifications.start();
      const excess = await findExcess(database.pool).catch(() => undefined);
      if (excess) log.warn(`${excess} docs/self-hosting.md says how to give the application one of its own.`);
      await start();
    },
    async close() {
      await background.settled();
      await close();
      boundedWork.close();
      await egress.close();
      observer.close();
      await notifications.stop();
      await database.close();
    },
  };
}
