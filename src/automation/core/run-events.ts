import type { RunStatus, StepStatus } from './run-status.ts';

const runEventNames = [
  'run.started',
  'step.started',
  'step.waiting',
  'step.resumed',
  'step.completed',
  'step.failed',
  'run.completed',
  'run.failed',
  'run.cancelled',
] as const;
export type RunEventName = (typeof runEventNames)[number];

/** The times recorded of a run and its steps. */
export interface RunHistory<Step extends StepHistory = StepHistory> {
  status: RunStatus;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** In the order of their positions. */
  stepResults: Step[];
}

interface StepHistory {
  status: StepStatus;
  /** 0 for steps that were skipped or taken over from an earlier run: they have no events. */
  attempts: number;
  startedAt: Date;
  finishedAt: Date | null;
}

/** `id` counts 1, 2, 3 … within the run; `step` is set for events of a step. */
export interface RunEvent<Step extends StepHistory = StepHistory> {
  id: number;
  name: RunEventName;
  at: Date;
  step?: Step;
}

const ends: Partial<Record<RunStatus, RunEventName>> = {
  completed: 'run.completed',
  failed: 'run.failed',
  cancelled: 'run.cancelled',
};

const stepEnds: Partial<Record<StepStatus, RunEventName>> = { completed: 'step.completed', failed: 'step.failed' };

/** The event of the end of a run that has ended. */
export function endEvents({
  status,
  finishedAt,
}: Pick<RunHistory, 'status' | 'finishedAt'>): { name: RunEventName; at: Date }[] {
  const name = ends[status];
  return name ? [{ name, at: finishedAt ?? new Date(0) }] : [];
}

/**
 * The events of a run so far. Steps run one after another and never twice, so the rows determine the number of each event,
 * and later events never change it. Events therefore need not be stored.
 */
export function eventsOf<Step extends StepHistory>(run: RunHistory<Step>): RunEvent<Step>[] {
  const events: Omit<RunEvent<Step>, 'id'>[] = [];
  if (run.startedAt) events.push({ name: 'run.started', at: run.startedAt });
  for (const step of run.stepResults) {
    if (step.attempts === 0) continue;
    events.push({ name: 'step.started', at: step.startedAt, step });
    const name = stepEnds[step.status];
    if (name) events.push({ name, at: step.finishedAt ?? step.startedAt, step });
  }
  events.push(...endEvents(run));
  return events.map((event, index) => ({ id: index + 1, ...event }));
}
