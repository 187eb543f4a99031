import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const automationWorkflows = {
  executeRun: 'executeRun',
  executeFlow: 'executeFlow',
  purgeAutomation: 'purgeAutomation',
  startScheduledRun: 'startScheduledRun',
  performBulkAction: 'performBulkAction',
} as const;

export interface AutomationWorkflows {
  executeRun(args: ExecuteRunArgs): Promise<void>;
  executeFlow(args: ExecuteFlowArgs): Promise<void>;
  purgeAutomation(args: PurgeAutomationArgs): Promise<void>;
  startScheduledRun(args: ScheduledRunArgs): Promise<ScheduledRunOutcome>;
  performBulkAction(args: BulkActionArgs): Promise<BulkActionOutcome>;
}

/** One id per run: Temporal refuses a second start of the same run, whichever process makes it. */
export const runWorkflowId = (runId: string) => `run-${runId}`;
/** Messages that a run's workflow accepts. */
export const runMessages = {
  /** The run has a slot to call out, or something that it waits for has ended. Harmless at any other time. */
  proceed: 'proceed',
  /** An operator answers an approval of a flow, as an update with an argument. */
  respond: 'respond',
} as const;
/** The workflow of a bulk action; it ends with it. */
export const bulkActionWorkflowId = (id: string) => `bulk-${id}`;
/** Messages that operators send to it from Temporal's web UI. Their arguments are ignored. */
export const bulkActionMessages = { pause: 'pause', resume: 'resume' } as const;
export const purgeWorkflowId = (automationId: string) => `purge-${automationId}`;
/** The id of a Temporal Schedule. The workflows that it starts have this id and the time they were due at. */
export const scheduleId = (automationId: string) => `schedule-${automationId}`;

/**
 * How late a scheduled run may start. It bounds what an outage leaves behind: ten runs of a schedule of every minute.
 * Well below the 24 hours for which an idempotency claim is kept, which keeps a time from being run twice.
 */
export const scheduleGraceMs = 600_000;

/** Every duration of a run is a value, so that tests run a whole retry schedule in seconds. */
export interface RunPolicy {
  modelCall: {
    /** Time limit of one step. */
    timeoutMs: number;
    /**
     * How long an activity continues with further steps. It saves an activity, with its two tasks, for every quick
     * step; slow steps would gain nothing, and organizations alternate between activities.
     */
    continueForMs?: number;
    heartbeatTimeoutMs: number;
    retry: RetryProfile;
    /** The longest wait that a provider's Retry-After can request. */
    maximumRetryAfterMs: number;
  };
  /** How long an activity that executes a flow begins further steps. Default: a minute. */
  driveForMs?: number;
}

/** Workflow and activity read it in one way, because one bounds the other. */
export const driveMsOf = ({ driveForMs = 60_000 }: RunPolicy): number => driveForMs;

export const defaultRunPolicy: RunPolicy = {
  modelCall: {
    timeoutMs: 600_000,
    continueForMs: 10_000,
    heartbeatTimeoutMs: 10_000,
    retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 5 },
    maximumRetryAfterMs: 300_000,
  },
};

/** References and small values only: the definition, the input and the outputs stay in PostgreSQL. */
export interface ExecuteRunArgs extends WorkContext {
  runId: string;
  /** How it begins: with steps that answer at once, or with a first step that is known to call out. */
  begin: { kind: 'walk' } | { kind: 'call'; position: number; stepId?: string };
  /** Notification channel of the process that waits for the end; null when none does. */
  waiter: string | null;
  policy: RunPolicy;
}

/** The same of a flow. All that is known of it is in PostgreSQL. */
export type ExecuteFlowArgs = Omit<ExecuteRunArgs, 'begin'>;

export interface PurgeAutomationArgs extends WorkContext {
  automationId: string;
}

/** The arguments of a Temporal Schedule: the tenant and a revision, and no data that could become outdated. */
export interface ScheduledRunArgs extends Omit<WorkContext, 'correlationId'> {
  automationId: string;
  revision: string;
}

/**
 * The outcome of one scheduled time.
 * - started: the run's id
 * - skipped: why the workflow could not run
 * - outdated: the schedule was changed or deleted in the meantime
 */
export type ScheduledRunOutcome = { started: string } | { skipped: string } | { outdated: true };

export interface BulkActionArgs extends WorkContext {
  bulkActionId: string;
}

export interface BulkActionOutcome {
  total: number;
  succeeded: number;
  failed: number;
  skipped: number;
}
