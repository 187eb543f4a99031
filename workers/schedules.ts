import type { Services } from '../src/services.ts';
import type { Priority } from '../src/temporal/contracts/priorities.ts';
import type { Queue } from '../src/temporal/contracts/queues.ts';
import { type KeptSchedule, keepSchedule } from '../src/temporal/schedules.ts';

/** What the clock or an operator starts for the whole installation. */
export interface InstallationSchedule {
  workflowType: string;
  queue: Queue;
  priority: Priority;
  /** Without it only an operator starts it, with the Schedule's Trigger button, and it is paused with `pauseNote`. */
  everyMs?: number;
  pauseNote?: string;
  args?: object[];
}

/** A run that no worker finishes must not keep the next ones from starting. */
const runLimitMs = 600_000;

/** A process that starts waits for Temporal as long as this. */
const callMs = 10_000;

/**
 * Makes a Schedule, unless it is there. One that is there keeps its pause and the times that an operator gave it; when it
 * starts something else than this version wants, what it starts and its times are replaced.
 */
export async function ensureSchedule(
  { temporal, env }: Pick<Services, 'temporal' | 'env'>,
  { workflowType, queue, priority, everyMs, pauseNote, args = [] }: InstallationSchedule,
): Promise<KeptSchedule> {
  const id = `${env.TEMPORAL_TASK_QUEUE_PREFIX}${workflowType}`;
  const wanted = {
    id,
    spec: everyMs === undefined ? {} : { intervals: [{ every: everyMs }] },
    keepsInterval: false,
    policies: { overlap: 'SKIP', catchupWindow: '1 minute' },
    workflowType,
    queue,
    args,
    // A key of its own: it has a turn among the organizations.
    priority: { priorityKey: priority, fairnessKey: workflowType },
    limit: { workflowRunTimeout: runLimitMs },
    paused: pauseNote !== undefined,
    pauses: 'when created',
    ...(pauseNote !== undefined && { pauseNote }),
  } as const;
  return (await keepSchedule(temporal, id, () => wanted, callMs))!;
}
