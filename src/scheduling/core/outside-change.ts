import type { Interval } from './intervals.ts';

/** A change in the calendar to an event of a booking. Milliseconds. */
export type OutsideChange = { kind: 'removed' } | ({ kind: 'moved' } & Interval);

/** An event of ours as we last wrote it. */
interface WrittenEntry extends Interval {
  isRemoved: boolean;
  writtenAt: number;
  booking: Interval & { isConfirmed: boolean };
}

const isSame = (one: Interval, other: Interval) => one.startsAt === other.startsAt && one.endsAt === other.endsAt;

/** Whether an event is when we wrote it, or when we are about to write it. */
export const isInPlace = ({ booking, ...written }: WrittenEntry, time: Interval): boolean =>
  isSame(time, written) || isSame(time, booking);

/**
 * The changes of other people to our event in the calendar, as read at `askedAt`.
 * @param time null for an event that was deleted or cancelled
 * @returns undefined when it is as we wrote it, or as we are about to write it
 */
export function outsideChangeOf(
  written: WrittenEntry,
  time: Interval | null,
  askedAt: number,
): OutsideChange | undefined {
  const { isRemoved, writtenAt, booking } = written;
  // Our own later writes may be missing from the answer. The next one has them.
  if (isRemoved || !booking.isConfirmed || writtenAt >= askedAt || booking.endsAt <= askedAt) return undefined;
  if (time === null) return { kind: 'removed' };
  return isInPlace(written, time) ? undefined : { kind: 'moved', ...time };
}
