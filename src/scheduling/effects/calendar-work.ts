import { ProviderFailure } from '../../platform/provider-failure.ts';
import { versionOf } from '../core/effects.ts';
import { attempt, type Outcome, type Work } from './attempt.ts';
import type { FollowedEffect } from './followed-booking.ts';
import { keepLink } from './record-effects.ts';

const noLink = {
  none: 'The meeting link could not be created, because no calendar of the host is connected.',
  other: 'The calendar of the host makes no meeting links of this kind.',
};

type Written = { kind: 'written'; meetingUrl: string | null } | { kind: 'no_calendar' } | { kind: 'removed' };

/**
 * Writes the entry of a booking into the calendar of its host, or removes it, and keeps the meeting link that the calendar
 * made. Both are one call to the calendar, and effects of their own.
 */
export async function performCalendarWork(work: Work, due: readonly FollowedEffect[]): Promise<void> {
  const { services, scope, booking, signal } = work;
  let asked: Promise<Written> | undefined;
  const ask = async (): Promise<Written> => {
    const { id: bookingId } = booking;
    if (booking.status === 'confirmed') {
      return services.calendarEntries.put(scope, { bookingId, version: versionOf(booking) }, signal);
    }
    const { kind } = await services.calendarEntries.remove(scope, { bookingId }, signal);
    return { kind };
  };
  const outcomeOf = async ({ kind }: FollowedEffect): Promise<Outcome> => {
    try {
      asked ??= ask();
      const written = await asked;
      if (written.kind === 'removed') return { kind: 'done' };
      if (written.kind === 'no_calendar') {
        return kind === 'meeting_link' ? { kind: 'failed', why: noLink.none } : { kind: 'nothing' };
      }
      if (written.meetingUrl !== null) await keepLink(scope, booking.id, written.meetingUrl);
      if (kind === 'meeting_link' && written.meetingUrl === null) return { kind: 'failed', why: noLink.other };
      return { kind: 'done' };
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      return { kind: 'retry', why: error.message, isPermanent: !error.retryable, afterMs: error.retryAfterMs };
    }
  };
  for (const effect of due) await attempt(work, effect, () => outcomeOf(effect));
}
