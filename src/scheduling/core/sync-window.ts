import { dayMs } from './calendar-date.ts';
import type { Interval } from './intervals.ts';

const maxDays = 400;
/** After this time a new baseline is read, because the window of the existing one does not move. */
const baselineLifeMs = dayMs;

/**
 * The part of a calendar that is read: from yesterday to the last day that can be booked.
 * @param maxAdvance the largest of the host's event types, in days; null when one has no limit, or there is none
 */
export function syncWindow(now: number, maxAdvance: number | null): Interval {
  const days = Math.min(maxAdvance ?? maxDays, maxDays);
  // One more: days of the host can end later than days of UTC.
  return { startsAt: now - dayMs, endsAt: now + (days + 2) * dayMs };
}

/** Whether everything has to be read again, and not only what changed. */
export function needsBaseline(
  kept: { baselinedAt: number; endsAt: number } | undefined,
  wanted: Interval,
  now: number,
): boolean {
  if (!kept) return true;
  const { baselinedAt, endsAt } = kept;
  // A clock that was set back counts too. The window moves by a day until the next baseline.
  return now - baselinedAt >= baselineLifeMs || baselinedAt > now + baselineLifeMs || endsAt < wanted.endsAt - dayMs;
}
