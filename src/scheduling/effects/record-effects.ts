import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { openEffect } from '../core/effect-status.ts';
import type { EffectKind } from '../core/effects.ts';

/** An effect of a booking. */
interface EffectRef {
  bookingId: string;
  version: number;
  kind: EffectKind;
}

const one = `organization_id = :organizationId and environment = :environment and booking_id = :bookingId and version = :version and kind = :kind`;
const valuesOf = ({ bookingId, version, kind }: EffectRef) => ({ bookingId, version, kind });

const begin = statement({
  name: 'booking_effect.begin',
  parameters: { bookingId: 'uuid', version: 'int', kind: 'text', attempts: 'int' },
  row: { attempts: 'int' },
  text: `update booking_effect set attempts = attempts + 1, updated_at = atelier_now()
    where ${one} and attempts = :attempts and status in (${openEffect}) and handed_over_at is null
   returning attempts`,
});

/**
 * Begins an attempt. Only one of several workers makes it.
 * @param attempts made so far
 * @returns the number of the attempt; undefined when it is another worker's
 */
export const beginAttempt = async (scope: Scope, effect: EffectRef, attempts: number): Promise<number | undefined> =>
  (await scope.one(begin, { ...valuesOf(effect), attempts }))?.attempts;

const handOver = statement({
  name: 'booking_effect.hand_over',
  parameters: { bookingId: 'uuid', version: 'int', kind: 'text', attempts: 'int' },
  row: { found: 'boolean' },
  text: `update booking_effect set handed_over_at = atelier_now()
    where ${one} and attempts = :attempts and status in (${openEffect})
   returning true as found`,
});

/** Thrown by an attempt that another attempt has superseded. */
export class Overtaken extends Error {
  override name = 'Overtaken';
}

/**
 * Notes that a mail is being handed over from now on: after a crash it is not sent again.
 * @throws Overtaken
 */
export async function noteHandOver(scope: Scope, effect: EffectRef, attempt: number): Promise<void> {
  if (!(await scope.one(handOver, { ...valuesOf(effect), attempts: attempt }))) throw new Overtaken();
}

const succeed = statement({
  name: 'booking_effect.succeed',
  parameters: { bookingId: 'uuid', version: 'int', kind: 'text' },
  text: `update booking_effect set status = 'succeeded', last_error = null, updated_at = atelier_now()
    where ${one} and status in (${openEffect}, 'failed')`,
});
const skip = statement({
  name: 'booking_effect.skip',
  parameters: { bookingId: 'uuid', version: 'int', kind: 'text', attempts: 'int' },
  text: `update booking_effect set status = 'skipped', updated_at = atelier_now()
    where ${one} and attempts = :attempts and status in (${openEffect})`,
});
const fail = statement({
  name: 'booking_effect.fail',
  parameters: { bookingId: 'uuid', version: 'int', kind: 'text', attempts: 'int', error: 'text' },
  text: `update booking_effect set status = 'failed', last_error = :error, updated_at = atelier_now()
    where ${one} and attempts = :attempts and status in (${openEffect})`,
});
const postpone = statement({
  name: 'booking_effect.postpone',
  parameters: { bookingId: 'uuid', version: 'int', kind: 'text', attempts: 'int', error: 'text', delayMs: 'float8' },
  text: `update booking_effect
      set status = 'retrying', last_error = :error, handed_over_at = null, updated_at = atelier_now(),
          due_at = atelier_now() + make_interval(secs => :delayMs / 1000)
    where ${one} and attempts = :attempts and status in (${openEffect})`,
});

const failDue = statement({
  name: 'booking_effect.fail_due',
  parameters: { bookingId: 'uuid', error: 'text' },
  text: `update booking_effect
      set status = 'failed', last_error = :error, attempts = attempts + 1, updated_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
      and status in (${openEffect})
      and due_at <= atelier_now()`,
});

/**
 * Records that the due effects of a booking failed for good. An attempt that still runs records nothing. @param why is
 * shown to the tenant
 */
export const recordFailureOfDue = (scope: Scope, bookingId: string, why: string): Promise<unknown> =>
  scope.rows(failDue, { bookingId, error: why });

/** It is done, whatever was thought of it before. */
export const recordSuccess = (scope: Scope, effect: EffectRef): Promise<unknown> =>
  scope.rows(succeed, valuesOf(effect));

/** @param attempts made so far; nothing is recorded when another one has begun, like below */
export const recordSkipped = (scope: Scope, effect: EffectRef, attempts: number): Promise<unknown> =>
  scope.rows(skip, { ...valuesOf(effect), attempts });

/** It is tried again only when an operator retries it. @param why is shown to the tenant */
export const recordFailure = (scope: Scope, effect: EffectRef, attempts: number, why: string): Promise<unknown> =>
  scope.rows(fail, { ...valuesOf(effect), attempts, error: shorten(why) });

/** It is tried again after so many milliseconds. @param why is shown to the tenant */
export const recordRetry = (
  scope: Scope,
  effect: EffectRef,
  attempts: number,
  { why, delayMs }: { why: string; delayMs: number },
): Promise<unknown> => scope.rows(postpone, { ...valuesOf(effect), attempts, error: shorten(why), delayMs });

const maxCharacters = 300;
const shorten = (text: string) => [...text].slice(0, maxCharacters).join('');

const retryFailed = statement({
  name: 'booking_effect.retry',
  parameters: { bookingId: 'uuid' },
  text: `update booking_effect
      set status = 'retrying', due_at = atelier_now(), created_at = atelier_now(), handed_over_at = null,
          updated_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
      and (status = 'failed' or status = 'retrying' and handed_over_at is null)`,
});

/**
 * Makes failed effects due at once, as if their change happened now. A mail that is being handed over is not one of them:
 * it may arrive.
 */
export const retryAllNow = (scope: Scope, bookingId: string): Promise<unknown> =>
  scope.rows(retryFailed, { bookingId });

const link = statement({
  name: 'booking.set_link',
  parameters: { bookingId: 'uuid', url: 'text' },
  text: `update booking set location = json_build_object('type', location->'type', 'url', :url),
    updated_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :bookingId
      and location->>'url' is null`,
});

/** Stores the address that a calendar created for a booking without one. */
export const keepLink = (scope: Scope, bookingId: string, url: string): Promise<unknown> =>
  scope.rows(link, { bookingId, url });
