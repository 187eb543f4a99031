import type { ConnectionLike } from '@temporalio/client';
import type { TerminalStatus } from './automation/core/run-status.ts';
import { Automation, AutomationSchedule, Definition, Run, RunStep } from './automation/entities.ts';
import { startPurge } from './automation/purge.ts';
import { reconcileRuns } from './automation/reconcile.ts';
import { RunWaiters } from './automation/run-waiters.ts';
import { cancelRunWorkflow } from './automation/run-workflows.ts';
import { syncSchedule } from './automation/schedule-sync.ts';
import { startPendingRun } from './automation/start-run-workflow.ts';
import { checkLedger } from './credits/audit.ts';
import { CreditAccount, CreditEntry, CreditHold, LedgerCheck } from './credits/entities.ts';
import { expireReservations } from './credits/expiry.ts';
import { DeprecatedUse, Notice, Vital } from './operations/entities.ts';
import { type Operations, openOperations } from './operations/operations.ts';
import { AuditEntry } from './platform/audit.ts';
import { Background } from './platform/background.ts';
import { Sealer } from './platform/crypto.ts';
import { type Database, openDatabase } from './platform/database.ts';
import { Egress } from './platform/egress.ts';
import { egressRules } from './platform/egress-destination.ts';
import { IdempotencyRecord, OutboxEntry } from './platform/entities.ts';
import type { Env } from './platform/env.ts';
import { forgetOldClaims } from './platform/idempotency.ts';
import type { Log } from './platform/log.ts';
import { Notifications } from './platform/notifications.ts';
import { type DrainReport, drainOutbox, type OutboxHandlers } from './platform/outbox.ts';
import { watchStatements } from './platform/sql.ts';
import { type Tracing, traceStatements } from './platform/telemetry.ts';
import { openProviders } from './providers/live.ts';
import type { ProviderRegistry } from './providers/registry.ts';
import { tracedProviders } from './providers/traced.ts';
import { TemporalClient } from './temporal/client.ts';
import { defaultRunPolicy, type RunPolicy } from './temporal/contracts/automation.ts';
import { AddressLimiter } from './tenancy/address-limiter.ts';
import { Authenticator } from './tenancy/authenticate.ts';
import { ApiKey, Organization, UsageMonth } from './tenancy/entities.ts';
import { KeyCache } from './tenancy/key-cache.ts';
import { MemoryRateLimiter, type RateLimiter } from './tenancy/rate-limiter.ts';
import { RedisRateLimiter } from './tenancy/redis-rate-limiter.ts';
import { RequestCounter } from './tenancy/usage.ts';
import type { DeliveryStatus } from './webhooks/core/delivery-status.ts';
import { type DeliveryPolicy, defaultDeliveryPolicy, scaled } from './webhooks/delivery-policy.ts';
import { ensureDeliveryWorkflow, rescueStranded } from './webhooks/delivery-workflow.ts';
import { Delivery, DeliveryAttempt, Event, WebhookSubscription } from './webhooks/entities.ts';
import { deliveriesChannel } from './webhooks/publish-event.ts';
import { forgetOldDeliveries } from './webhooks/retention.ts';
import { resumeStopped } from './webhooks/stopped.ts';
import { sweepTurnedOff } from './webhooks/subscription-off.ts';
import { DeliveryWakeup } from './webhooks/wakeup.ts';

const failedAuthenticationsPerMinute = 100;

const sweepBatch = 500;

/** Every table of the product. */
export const entities = [
  Organization,
  ApiKey,
  UsageMonth,
  CreditAccount,
  CreditEntry,
  CreditHold,
  LedgerCheck,
  Automation,
  Definition,
  Run,
  RunStep,
  AutomationSchedule,
  WebhookSubscription,
  Event,
  Delivery,
  DeliveryAttempt,
  OutboxEntry,
  IdempotencyRecord,
  AuditEntry,
  Vital,
  Notice,
  DeprecatedUse,
];

/** The product's database, for programs that need nothing else. */
export const openProductDatabase = (url: string, poolSize: number): Promise<Database> =>
  openDatabase({ url, poolSize, entities });

export interface Services {
  env: Env;
  log: Log;
  database: Database;
  temporal: TemporalClient;
  /** Of secrets at rest. */
  sealer: Sealer;
  /** The way to addresses that callers choose. */
  egress: Egress;
  authenticator: Authenticator;
  /** Of organizations, per environment. */
  limiter: RateLimiter;
  /** Of addresses whose keys were refused. */
  failedAuthentications: AddressLimiter;
  requestCounter: RequestCounter;
  operations: Operations;
  providers: ProviderRegistry;
  waiters: RunWaiters;
  /** Told of every run that ends in this process. */
  countRunEnd(status: TerminalStatus): void;
  runPolicy: RunPolicy;
  /** Told of every attempt of a delivery that this process made. */
  countAttempt(status: DeliveryStatus): void;
  deliveries: DeliveryWakeup;
  deliveryPolicy: DeliveryPolicy;
  /** The word in the names of the signature headers of family A. */
  webhookBrand: string;
  /** Does what committed transactions still owe. Any number of processes may call it at once. */
  drain(): Promise<DrainReport>;
  /** Ends what nobody came back for: reservations of credits, keys of repeated requests, runs that Temporal gave up. */
  sweep(): Promise<void>;
  background: Background;
  /** Aborted when the process begins to drain: requests that wait are answered with what is known. */
  draining: AbortController;
  /** Where the environment names a collector. */
  tracing: Tracing | undefined;
  /** Opens what cannot wait for its first use. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface ServiceOptions {
  connection: ConnectionLike;
  runPolicy?: RunPolicy;
  providers?: ProviderRegistry;
  tracing?: Tracing | undefined;
}

/** Builds everything from the environment: the one place that does. Nothing is connected before `start`. */
export async function openServices(env: Env, log: Log, options: ServiceOptions): Promise<Services> {
  const { tracing } = options;
  const untraced = options.providers ?? openProviders(env, log);
  const providers = tracing ? tracedProviders(untraced, tracing) : untraced;
  if (tracing) watchStatements(traceStatements(tracing));
  const database = await openProductDatabase(env.DATABASE_URL, env.DATABASE_POOL_SIZE);
  const temporal = new TemporalClient({
    connection: options.connection,
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueuePrefix: env.TEMPORAL_TASK_QUEUE_PREFIX,
    tracing,
  });
  const egress = new Egress(egressRules(env));
  const background = new Background(log);
  const waiters = new RunWaiters();
  const notifications = new Notifications(env.DATABASE_URL, log);
  notifications.on(waiters.channel, (runId) => waiters.tell(runId));

  const deliveries = new DeliveryWakeup();
  notifications.on(deliveriesChannel, () => deliveries.wake());
  const deliveryPolicy = scaled(defaultDeliveryPolicy, env.DELIVERY_TIME_SCALE ?? 1);
  const follow = { temporal, deliveryPolicy };

  const keyCache = new KeyCache(notifications);
  const requestCounter = new RequestCounter(database, log);
  const redis = env.REDIS_URL === undefined ? undefined : new RedisRateLimiter(env.REDIS_URL, log);
  const runPolicy = options.runPolicy ?? defaultRunPolicy;
  const handlers: OutboxHandlers = {
    'run.start': (scope, runId) => startPendingRun({ temporal, providers, runPolicy }, scope, runId),
    'run.cancel': (_, runId) => cancelRunWorkflow(temporal, runId),
    'automation.purge': (scope, automationId) => startPurge(temporal, scope, automationId),
    'schedule.sync': async (scope, automationId) => void (await syncSchedule(temporal, scope, automationId)),
    'delivery.follow': (scope, deliveryId) => ensureDeliveryWorkflow(follow, scope, deliveryId),
    'subscription.stopped': (scope, subscriptionId) => resumeStopped(temporal, scope, subscriptionId),
  };
  // True where processes share nothing.
  const isCacheUp = async () => redis === undefined || redis.isUp();
  const operations = openOperations({ env, log, database, temporal, isCacheUp });
  const countRunEnd = (status: TerminalStatus) => operations.metrics.runEnded(status);
  return {
    env,
    log,
    database,
    temporal,
    sealer: new Sealer(env.SEALING_KEYS),
    egress,
    authenticator: new Authenticator(database, keyCache, background),
    limiter: redis ?? new MemoryRateLimiter(),
    failedAuthentications: new AddressLimiter(failedAuthenticationsPerMinute, 60),
    requestCounter,
    operations,
    providers,
    waiters,
    countRunEnd,
    countAttempt: (status) => operations.metrics.attemptMade(status),
    runPolicy,
    deliveries,
    deliveryPolicy,
    webhookBrand: env.WEBHOOK_HEADER_BRAND,
    background,
    draining: new AbortController(),
    tracing,
    async drain() {
      deliveries.wake();
      const { drained, failed } = await drainOutbox(database, handlers);
      const forgotten = await rescueStranded(database, follow);
      return {
        drained: drained + forgotten.resumed,
        failed: [...failed, ...forgotten.failed.map((one) => ({ kind: 'delivery.follow' as const, ...one }))],
      };
    },
    async sweep() {
      const chores = [
        async () => {
          while ((await expireReservations(database, sweepBatch)) === sweepBatch);
        },
        async () => {
          while ((await forgetOldClaims(database, sweepBatch)) === sweepBatch);
        },
        async () => void (await sweepTurnedOff(database)),
        async () => {
          while ((await forgetOldDeliveries(database, sweepBatch)) === sweepBatch);
        },
        async () => {
          const faults = (await checkLedger(database)) ?? [];
          if (faults.length > 0) log.error({ faults: faults.slice(0, 20) }, 'the credit ledger does not add up');
        },
        async () => {
          for (const run of await reconcileRuns(database, temporal)) {
            log.warn(run, 'a run was ended whose workflow is over');
            waiters.tell(run.runId);
            countRunEnd(run.status);
          }
        },
      ];
      // One that fails does not keep the others from being done.
      const done = await Promise.allSettled(chores.map((chore) => chore()));
      for (const chore of done) if (chore.status === 'rejected') throw chore.reason;
    },
    async start() {
      redis?.start();
      await notifications.start();
      requestCounter.start();
    },
    async close() {
      await background.settled();
      await requestCounter.stop();
      await operations.close();
      await egress.close();
      redis?.stop();
      await notifications.stop();
      await database.close();
    },
  };
}
