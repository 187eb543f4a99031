import type { Services } from '../src/services.ts';
import type { Priority } from '../src/temporal/contracts/priorities.ts';
import type { Queue } from '../src/temporal/contracts/queues.ts';
import { type KeptSchedule, keepSchedule } from '../src/temporal/schedules.ts';

/** The workflows that a Schedule or an operator starts for the whole installation. */
interface InstallationSchedule {
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
 * Creates a Schedule, unless it exists. An existing Schedule keeps its pause and an operator's changed times; if its
 * action differs from that of this version, its action and its times are replaced.
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
    // A key of its own, so that it gets a slot among the organizations.
    priority: { priorityKey: priority, fairnessKey: workflowType },
    limit: { workflowRunTimeout: runLimitMs },
    paused: pauseNote !== undefined,
    pauses: 'when created',
    ...(pauseNote !== undefined && { pauseNote }),
  } as const;
  return (await keepSchedule(temporal, id, () => wanted, callMs))!;
}
