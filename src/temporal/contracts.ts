/** What the processes and the Temporal workflows agree on: names, queues, ids and arguments. Constants and types only. */

export const queues = { runs: 'runs', webhooks: 'webhooks' } as const;
export type Queue = keyof typeof queues;

/** The queue of webhooks of the installation whose workflows run on this queue. */
export const webhooksQueueBeside = (runsQueue: string) =>
  runsQueue.slice(0, runsQueue.length - queues.runs.length) + queues.webhooks;

export const workflowTypes = {
  executeRun: 'executeRun',
  purgeAutomation: 'purgeAutomation',
  startScheduledRun: 'startScheduledRun',
  deliverWebhook: 'deliverWebhook',
  redriveDeadLetters: 'redriveDeadLetters',
} as const;

/** What the product's own schedules start; none takes an argument. */
export const scheduledWorkflows = { housekeeping: 'housekeeping' } as const;

/**
 * How a delivery's workflow is spoken to. `resume` is the product's own word: its row has changed. The others are for
 * operators, who press them in Temporal's web UI; whatever arguments come with them are ignored.
 */
export const deliveryMessages = {
  replay: 'replay',
  replayNow: 'replayNow',
  discard: 'discard',
  resume: 'resume',
} as const;

/** One id per run: a second start of the same run is refused by Temporal, whoever makes it. */
export const runWorkflowId = (runId: string) => `run-${runId}`;
export const purgeWorkflowId = (automationId: string) => `purge-${automationId}`;
/** Of a delivery that failed once, for as long as it may be replayed. */
export const deliveryWorkflowId = (deliveryId: string) => `delivery-${deliveryId}`;
/** Of a Temporal Schedule; what it starts has this id and the time it was due at. */
export const scheduleId = (automationId: string) => `schedule-${automationId}`;

/**
 * How late a scheduled run may start. It bounds what an outage leaves behind: of a schedule of every minute, ten runs.
 * Well below the 24 hours for which an idempotency claim is kept, which keeps a time from being run twice.
 */
export const scheduleGraceMs = 600_000;

export const searchAttributes = {
  organization: 'OrgId',
  resource: 'ResourceId',
  deliveryStatus: 'DeliveryStatus',
  runStatus: 'RunStatus',
} as const;

/** Durations in milliseconds. */
export interface RetryProfile {
  initialIntervalMs: number;
  backoff: number;
  maximumIntervalMs: number;
  maximumAttempts: number;
}

/** Every duration of a run is a value, so that tests run a whole schedule in seconds. */
export interface RunPolicy {
  modelCall: {
    timeoutMs: number;
    heartbeatTimeoutMs: number;
    retry: RetryProfile;
    /** The longest that a provider's Retry-After is waited for. */
    maximumRetryAfterMs: number;
  };
}

export const defaultRunPolicy: RunPolicy = {
  modelCall: {
    timeoutMs: 600_000,
    heartbeatTimeoutMs: 10_000,
    retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 5 },
    maximumRetryAfterMs: 300_000,
  },
};

/** Whose run it is, carried by every argument: plain values, because a Scope cannot cross a process. */
export interface WorkContext {
  organizationId: string;
  environment: 'live' | 'test';
  correlationId: string;
}

/** Which organization's turn a task is, and how large its share. */
export interface Fairness {
  key: string;
  weight: number;
}

/** References and small values alone: the definition, the input and the outputs stay in PostgreSQL. */
export interface ExecuteRunArgs extends WorkContext {
  runId: string;
  /** How it begins: with whatever answers at once, or with a first step that is known to call out. */
  begin: { kind: 'walk' } | { kind: 'call'; position: number };
  /** Notification channel of the process that waits for the end; null when nobody does. */
  waiter: string | null;
  policy: RunPolicy;
}

export interface PurgeAutomationArgs extends WorkContext {
  automationId: string;
}

/** What a Temporal Schedule carries: whose it is and which state of it, nothing that could be outdated. */
export interface ScheduledRunArgs extends Omit<WorkContext, 'correlationId'> {
  automationId: string;
  revision: string;
}

/**
 * What became of a time: a run; nothing, because the workflow cannot run now; nothing, because the schedule has changed
 * or is gone.
 */
export type ScheduledRunOutcome = { started: string } | { skipped: string } | { outdated: true };

/** A delivery that failed once. */
export interface DeliverWebhookArgs extends WorkContext {
  deliveryId: string;
  /** What operators see without asking the database. */
  eventType: string;
  subscriptionId: string;
  begin: DeliveryProgress;
  /** How long a dead letter waits for its replay. */
  parkedMs: number;
}

/**
 * Where a delivery stands.
 * - wait: its next attempt is due in so many ms
 * - dead_lettered: it waits for whoever replays or discards it
 * - over: delivered, or failed for ever
 */
export type DeliveryProgress =
  | { kind: 'wait'; ms: number }
  | { kind: 'dead_lettered'; why: string }
  | { kind: 'over'; status: 'delivered' | 'failed' };

/** Which dead letters, as an operator types it: ids in either form. Without anything all of them. */
export interface RedriveArgs {
  organizationId?: string;
  subscriptionId?: string;
  eventType?: string;
  /** ISO 8601: dead-lettered since then. */
  since?: string;
  /** Replays per second; 20 unless given. */
  perSecond?: number;
}

export interface RedriveOutcome {
  replayed: number;
}

/** The workflows that exist; `workflows/index.ts` must satisfy it. */
export interface Workflows {
  executeRun(args: ExecuteRunArgs): Promise<void>;
  purgeAutomation(args: PurgeAutomationArgs): Promise<void>;
  startScheduledRun(args: ScheduledRunArgs): Promise<ScheduledRunOutcome>;
  deliverWebhook(args: DeliverWebhookArgs): Promise<'delivered' | 'failed' | 'dead_lettered'>;
  redriveDeadLetters(args?: RedriveArgs): Promise<RedriveOutcome>;
}

/** The closed list of failure types that workflows and activities throw at each other. */
export const failureTypes = {
  /** Retryable: the provider may answer later. */
  providerUnavailable: 'ProviderUnavailable',
  /** A run that ended as failed, so that an operator finds it among the failed workflows. */
  runFailed: 'RunFailed',
  /** What an operator typed makes no sense; the message says what. */
  invalidArguments: 'InvalidArguments',
} as const;

/** Carries a W3C traceparent, under the name that Temporal's own OpenTelemetry interceptors use. */
export const traceHeader = '_tracer-data';

/** What a traced workflow tells its worker. The header comes as it was given. */
export type TraceSinks = {
  traces: { workflowEnded(header: unknown, failure: string | undefined): void };
};
