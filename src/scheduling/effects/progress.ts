import type { BookingProgress } from '../../temporal/contracts/scheduling.ts';
import { typeOf } from '../core/effects.ts';
import type { FollowedBooking, FollowedEffect } from './followed-booking.ts';

/** Between two looks at least: the clocks of PostgreSQL and Temporal differ a little. */
const minMs = 100;
/** A timer of Temporal's may be as long, but an extra look does no harm. */
const maxMs = 30 * 86_400_000;

const toSecond = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

/** The state of a booking and its effects in one line, for operators. */
/** Maximum number of effects of one kind that one line describes. */
const maxDescribed = 4;

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
export function progressOf(booking: FollowedBooking, open: readonly FollowedEffect[]): BookingProgress {
  const { now, start, end, status, failed } = booking;
  const details = describe(booking, open);
  // Until then an operator may try again what failed.
  const until = status === 'confirmed' ? end : failed.length > 0 ? start : now;
  if (open.length === 0 && now >= until) return { kind: 'over', details };
  const next = Math.min(...open.map(({ dueAt }) => dueAt.getTime()), ...(open.length === 0 ? [until.getTime()] : []));
  return { kind: 'wait', ms: Math.min(maxMs, Math.max(minMs, next - now.getTime())), details };
}
