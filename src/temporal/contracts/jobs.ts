import type { JobName } from '../../jobs/core/names.ts';
import type { Queue } from './queues.ts';
import type { WorkContext } from './work-context.ts';

/** The contract between a job, its workflow and its activities. */
export interface JobContract extends JobName {
  /** One of them, in logs and failures: `voice call`. */
  noun: string;
  /** Name of its id there: `callId`. */
  idName: string;
  /** Type of its workflow. */
  workflow: string;
  queue: Queue;
  /** The failure type of its workflow, so that operators find it among the failed ones: a type of its own. */
  failureType: string;
  /** Whether it costs no credits. */
  isFree?: boolean;
}

/** A job, and the notification channel of the process whose caller waits for it; null without a caller. */
export interface JobRef {
  /** UUID of its row. */
  id: string;
  waiter: string | null;
}

/** What an activity of a job receives. References and small values only: requests and results stay in PostgreSQL. */
export type JobContext = JobRef & WorkContext;

/** Arguments of the workflow. Every duration is a value of the policy, so that tests run a whole retry schedule in seconds. */
export interface JobArgs<Policy> extends JobRef, WorkContext {
  policy: Policy;
}

/** `ended`: completed, or recorded by another attempt. */
export type JobEnd = { kind: 'ended' } | JobFailure;

interface JobFailure {
  kind: 'failed';
  code: string;
  /** Shown to operators. It contains no data of the tenant. */
  message?: string;
}

export { jobWorkflowId } from '../../jobs/core/names.ts';
