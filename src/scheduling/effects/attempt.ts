import { clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { Mailer } from '../../platform/mail.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { BookingPages } from '../bookings/booking-pages.ts';
import { type EffectRetries, giveUpAt, retryDelayMs } from '../core/effects.ts';
import { bookingIds } from '../core/ids.ts';
import type { FollowedBooking, FollowedEffect } from './followed-booking.ts';
import { beginAttempt, Overtaken, recordFailure, recordRetry, recordSkipped, recordSuccess } from './record-effects.ts';

/** The calendars that bookings are written to. Each call may be repeated: a second one changes nothing. */
interface CalendarEntries {
  /**
   * Writes a booking as it is now into the calendar of its host. `meetingUrl`: the link that the calendar made for it.
   * @throws ProviderFailure
   */
  put(
    scope: Scope,
    booking: { bookingId: string; version: number },
    signal: AbortSignal,
  ): Promise<{ kind: 'written'; meetingUrl: string | null } | { kind: 'no_calendar' }>;
  /** Removes the entry of a booking, if there is one. @throws ProviderFailure */
  remove(
    scope: Scope,
    booking: { bookingId: string },
    signal: AbortSignal,
  ): Promise<{ kind: 'removed' | 'no_calendar' }>;
}

export interface PerformServices {
  database: Database;
  /** By the environment of the key that booked: mails of test keys never leave the machine. */
  calendarMail: Record<Environment, Mailer>;
  bookingPages: BookingPages;
  calendarEntries: CalendarEntries;
  effectRetries: EffectRetries;
  log: Log;
  /** MAIL_FROM. */
  mailFrom: string;
}

/** How an attempt ended. `isPermanent`: it was refused, and a repetition succeeds only after a change of its cause. */
export type Outcome =
  | { kind: 'done' }
  | { kind: 'nothing' }
  | { kind: 'retry'; why: string; isPermanent: boolean; afterMs?: number | undefined }
  | { kind: 'failed'; why: string };

export interface Work {
  services: PerformServices;
  scope: Scope;
  booking: FollowedBooking;
  signal: AbortSignal;
}

/** Makes one attempt of an effect, unless another worker makes it, and records its result. */
export async function attempt(
  { services, scope, booking }: Work,
  effect: FollowedEffect,
  perform: (attempt: number) => Promise<Outcome>,
): Promise<void> {
  const ref = { bookingId: booking.id, version: effect.version, kind: effect.kind };
  const number = await beginAttempt(scope, ref, effect.attempts);
  if (number === undefined) return;
  const facts = {
    bookingId: bookingIds.format(booking.id),
    effect: effect.kind,
    version: effect.version,
    attempt: number,
    correlationId: scope.correlationId,
    ...scope.tenant,
  };
  services.log.info(facts, 'booking effect begun');
  const outcome = await perform(number).catch((error): undefined => {
    if (!(error instanceof Overtaken)) throw error;
  });
  const why = outcome && 'why' in outcome ? { why: outcome.why } : {};
  services.log.info({ ...facts, outcome: outcome?.kind ?? 'overtaken', ...why }, 'booking effect attempted');
  if (!outcome) return;
  if (outcome.kind === 'done') await recordSuccess(scope, ref);
  else if (outcome.kind === 'nothing') await recordSkipped(scope, ref, number);
  else if (outcome.kind === 'failed') await recordFailure(scope, ref, number, outcome.why);
  else {
    const delayMs = outcome.afterMs ?? retryDelayMs(number, outcome.isPermanent, services.effectRetries);
    const isLate = clock.now() + delayMs >= giveUpAt(effect, booking.start).getTime();
    if (isLate) await recordFailure(scope, ref, number, outcome.why);
    else await recordRetry(scope, ref, number, { why: outcome.why, delayMs });
  }
}
