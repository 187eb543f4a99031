import type { Scope } from '../../platform/database/scope.ts';
import type { BookingProgress } from '../../temporal/contracts/scheduling.ts';
import { isDeleted } from '../../tenancy/index.ts';
import { judge, typeOf, versionOf } from '../core/effects.ts';
import { failPoint } from '../fail-points.ts';
import { attempt, type PerformServices, type Work } from './attempt.ts';
import { performCalendarWork } from './calendar-work.ts';
import { type FollowedEffect, findFollowed } from './followed-booking.ts';
import { sendEffectMail } from './mails.ts';
import { progressOf } from './progress.ts';
import { recordFailure, recordSkipped, retryAllNow } from './record-effects.ts';

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
 * @param retry whether an operator asks for what failed
 */
export async function performEffects(
  services: PerformServices,
  scope: Scope,
  bookingId: string,
  { retry, signal }: { retry: boolean; signal: AbortSignal },
): Promise<BookingProgress> {
  if (retry) await retryAllNow(scope, bookingId);
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
