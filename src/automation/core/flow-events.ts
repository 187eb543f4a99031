import type { RunEventName } from './run-events.ts';
import type { StepStatus } from './run-status.ts';

/** When a step of a flow began and ended. */
export interface FlowStepTimes {
  position: number;
  /** Dotted. */
  path: string;
  status: StepStatus;
  isContainer: boolean;
  /** Whether it waited, or waits. */
  didWait: boolean;
  startedAt: Date;
  finishedAt: Date | null;
}

export interface FlowStepEvent {
  name: RunEventName;
  at: Date;
  position: number;
}

const ends: Partial<Record<StepStatus, RunEventName>> = { completed: 'step.completed', failed: 'step.failed' };

interface Ranked extends FlowStepEvent {
  /** The position that it follows, among events of the same millisecond. */
  behind: number;
  rank: number;
}

/** The last position in a container with an event in the same millisecond. */
function lastWithin(container: FlowStepTimes, sameTime: readonly FlowStepTimes[]): number {
  const within = `${container.path}.`;
  let last = container.position;
  for (const { path, position } of sameTime) if (position > last && path.startsWith(within)) last = position;
  return last;
}

/**
 * What happened to steps after a time, in an order that later events do not change: whatever an execution records is later than all
 * that was recorded before.
 * @param steps those that began or ended after it
 */
export function flowEventsAfter(steps: readonly FlowStepTimes[], after: number): FlowStepEvent[] {
  const endsAt = new Map<number, FlowStepTimes[]>();
  const add = (time: Date | null, step: FlowStepTimes) => {
    if (!time) return;
    const found = endsAt.get(time.getTime());
    if (found) found.push(step);
    else endsAt.set(time.getTime(), [step]);
  };
  for (const step of steps) {
    add(step.startedAt, step);
    add(step.finishedAt, step);
  }
  const events: Ranked[] = [];
  for (const step of steps) {
    const { position, path, status, isContainer, didWait, startedAt, finishedAt } = step;
    const began = { at: startedAt, position, behind: position };
    events.push({ ...began, name: 'step.started', rank: 0 });
    if (didWait) events.push({ ...began, name: 'step.waiting', rank: 1 });
    const end = ends[status];
    if (!end || !finishedAt) continue;
    const behind = isContainer ? lastWithin(step, endsAt.get(finishedAt.getTime())!) : position;
    if (didWait) events.push({ name: 'step.resumed', at: finishedAt, position, behind, rank: 2 });
    // Inner containers end before those around them.
    events.push({ name: end, at: finishedAt, position, behind, rank: isContainer ? 1_000 - path.length : 3 });
  }
  return events
    .filter(({ at }) => at.getTime() > after)
    .sort((a, b) => a.at.getTime() - b.at.getTime() || a.behind - b.behind || a.rank - b.rank);
}
