import type { Scope } from '../../platform/database/scope.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { BookingProgress } from '../../temporal/contracts/scheduling.ts';
import { isDeleted } from '../../tenancy/index.ts';
import { judge, typeOf, versionOf } from '../core/effects.ts';
import { failPoint } from '../fail-points.ts';
import { attempt, type Outcome, type PerformServices, type Work } from './attempt.ts';
import { type FollowedBooking, type FollowedEffect, findFollowed } from './followed-booking.ts';
import { sendEffectMail } from './mails.ts';
import { keepLink, recordFailure, recordSkipped } from './record-effects.ts';

const noLink = {
  none: 'The meeting link could not be created, because no calendar of the host is connected.',
  other: 'The calendar of the host makes no meeting links of this kind.',
};

type Written = { kind: 'written'; meetingUrl: string | null } | { kind: 'no_calendar' } | { kind: 'removed' };

/**
 * Writes the entry of a booking into the calendar of its host, or removes it, and keeps the meeting link that the calendar
 * made. Both are one call to the calendar, and effects of their own.
 */
async function performCalendarWork(work: Work, due: readonly FollowedEffect[]): Promise<void> {
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

/** Between two looks at least: the clocks of PostgreSQL and Temporal differ a little. */
const minMs = 100;
/** A timer of Temporal's may be as long, but an extra look does no harm. */
const maxMs = 30 * 86_400_000;

const toSecond = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

/** Maximum number of effects of one kind that one line describes. */
const maxDescribed = 4;

/** The state of a booking and its effects in one line, for operators. */
function describe({ status, start, failed }: FollowedBooking, open: readonly FollowedEffect[]): string {
  const parts = [status === 'cancelled' ? '**Cancelled**' : `**Confirmed** for ${toSecond(start)}`];
  const failing = open.filter((effect) => effect.status === 'retrying');
  for (const { kind, attempts, lastError, dueAt } of failing.slice(0, maxDescribed)) {
    parts.push(`${typeOf(kind)} failed ${attempts} times (${lastError}) and is tried again at ${toSecond(dueAt)}`);
  }
  for (const { kind, lastError } of failed.slice(0, maxDescribed)) {
    parts.push(`${typeOf(kind)} failed for good (${lastError ?? 'unknown'})`);
  }
  if (failed.length > maxDescribed) parts.push(`${failed.length - maxDescribed} more effects failed for good`);
  if (failing.length > 0 || failed.length > 0) parts.push('the signal `retryEffects` tries them now');
  const waiting = open.filter((effect) => effect.status === 'pending').map(({ dueAt }) => dueAt.getTime());
  if (waiting.length > 0) parts.push(`next effect at ${toSecond(new Date(Math.min(...waiting)))}`);
  return `${parts.join('; ')}.`;
}

/**
 * The next action of a booking's workflow after an attempt at its effects. @param open the effects that have not ended
 */
function progressOf(booking: FollowedBooking, open: readonly FollowedEffect[]): BookingProgress {
  const { now, start, end, status, failed } = booking;
  const details = describe(booking, open);
  // Until then an operator may try again what failed.
  const until = status === 'confirmed' ? end : failed.length > 0 ? start : now;
  if (open.length === 0 && now >= until) return { kind: 'over', details };
  const next = Math.min(...open.map(({ dueAt }) => dueAt.getTime()), ...(open.length === 0 ? [until.getTime()] : []));
  return { kind: 'wait', ms: Math.min(maxMs, Math.max(minMs, next - now.getTime())), details };
}

const unconfirmed = 'The mail server did not confirm the mail. It may have arrived, and is not sent again by itself.';
/** How soon effects continue after the organization was restored. */
const deletedLookMs = 10 * 60_000;
const tooLate = 'The booking has started.';

const inOrder = async (effects: readonly FollowedEffect[], perform: (effect: FollowedEffect) => Promise<void>) => {
  for (const effect of effects) await perform(effect);
};

/**
 * Performs the due effects of a booking, once each, but not while its organization is deleted. Mails of one kind are
 * sent in the order of the changes. Failures are recorded and due again later; only unexpected errors reject.
 */
export async function performEffects(
  services: PerformServices,
  scope: Scope,
  bookingId: string,
  signal: AbortSignal,
): Promise<BookingProgress> {
  const found = await findFollowed(scope, bookingId);
  if (!found) return { kind: 'over', details: '' };
  const { booking, effects } = found;
  if (await isDeleted(scope)) return { kind: 'wait', ms: deletedLookMs, details: 'The organization was deleted.' };
  const now = { version: versionOf(booking), start: booking.start };
  const due: FollowedEffect[] = [];
  for (const effect of effects) {
    const ref = { bookingId, version: effect.version, kind: effect.kind };
    const verdict = judge(effect, now, booking.now);
    if (verdict === 'perform') due.push(effect);
    else if (verdict === 'skip') await recordSkipped(scope, ref, effect.attempts);
    else if (verdict === 'unconfirmed') await recordFailure(scope, ref, effect.attempts, unconfirmed);
    else if (verdict === 'give_up') await recordFailure(scope, ref, effect.attempts, effect.lastError ?? tooLate);
  }

  const work: Work = { services, scope, booking, signal };
  const ofCalendar = due.filter(({ kind }) => kind === 'calendar_entry' || kind === 'meeting_link');
  const calendar = performCalendarWork(work, ofCalendar);
  // The mail shows the link that the calendar creates, if the calendar creates it at once.
  const awaitsLink = ofCalendar.some(({ kind, attempts }) => kind === 'meeting_link' && attempts === 0);
  if (awaitsLink) await calendar;
  const seen = awaitsLink ? ((await findFollowed(scope, bookingId))?.booking ?? booking) : booking;
  const mails = due.filter((effect) => !ofCalendar.includes(effect));
  const byType = Map.groupBy(mails, ({ kind }) => typeOf(kind));
  const send = async (effect: FollowedEffect) => {
    await attempt(work, effect, (number) => sendEffectMail({ ...work, booking: seen }, effect, number));
    failPoint('booking.mail_recorded');
  };
  const ended = await Promise.allSettled([calendar, ...[...byType.values()].map((ofOne) => inOrder(ofOne, send))]);
  for (const result of ended) if (result.status === 'rejected') throw result.reason;
  const after = await findFollowed(scope, bookingId);
  return after ? progressOf(after.booking, after.effects) : { kind: 'over', details: '' };
}
