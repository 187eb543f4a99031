/** What started a run. */
export const triggerTypes = ['api', 'schedule', 'webhook', 'event', 'workflow', 'batch'] as const;
export type TriggerType = (typeof triggerTypes)[number];

/** What else is known of the trigger of a run. Ids are UUIDs. */
export interface TriggerFacts {
  /** For `schedule`: the time at which the run was due. */
  dueAt?: string;
  /** For `event`: its id and name. */
  eventId?: string;
  event?: string;
  /** For `event`: the workflows that caused it, the first one first. */
  chain?: string[];
  /** For `workflow`: the run whose step started it, and that step. */
  runId?: string;
  stepId?: string;
  /** For `batch`: its id. */
  batchId?: string;
}

/** Why a run may not begin. A run that waits for a slot of its plan is none of these: it has been started. */
const queueReasons = ['delay', 'concurrency', 'paused'] as const;
export type QueueReason = (typeof queueReasons)[number];

export const concurrencyStrategies = ['queue', 'skip', 'cancel_running'] as const;

/** How many runs of a workflow may run at the same time, and what happens to one more. */
export interface Concurrency {
  limit: number;
  /** CEL over `input` and `variables`: the limit holds for each of its values. */
  key?: string | undefined;
  strategy: (typeof concurrencyStrategies)[number];
}

export const defaultPriority = 3;
export const maxTags = 10;
export const tagPattern = /^[A-Za-z0-9._:/-]{1,64}$/;
export const maxMetadataBytes = 16 * 1024;
export const maxKeyLength = 200;
/** 366 days. */
export const maxDelayMs = 31_622_400_000;
export const maxRunSeconds = 31_622_400;
