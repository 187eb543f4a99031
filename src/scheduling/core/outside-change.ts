import type { Interval } from './intervals.ts';

/** A change that was made in the calendar to an event of a booking. Milliseconds. */
export type OutsideChange = { kind: 'removed' } | ({ kind: 'moved' } & Interval);

/** An event of ours as we last wrote it. */
export interface WrittenEntry extends Interval {
  isRemoved: boolean;
  writtenAt: number;
  booking: Interval & { isConfirmed: boolean };
}

const isSame = (one: Interval, other: Interval) => one.startsAt === other.startsAt && one.endsAt === other.endsAt;

/**
 * What was done to an event of ours in the calendar, which the calendar was asked about at `askedAt`.
 * @param time null for an event that was deleted or cancelled
 * @returns undefined when it is as we wrote it, or as we are about to write it
 */
export function outsideChangeOf(
  { isRemoved, writtenAt, booking, ...written }: WrittenEntry,
  time: Interval | null,
  askedAt: number,
): OutsideChange | undefined {
  // What we wrote since may be missing from the answer. The next one has it.
  if (isRemoved || !booking.isConfirmed || writtenAt >= askedAt || booking.endsAt <= askedAt) return undefined;
  if (time === null) return { kind: 'removed' };
  if (isSame(time, written) || isSame(time, booking)) return undefined;
  return { kind: 'moved', ...time };
}
