import { AppError, unavailable } from '../platform/errors.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { takeTurn } from '../platform/tenant-turn.ts';
import { Turns } from '../platform/turns.ts';
import type { EffectSettings } from './effects/enqueue-effects.ts';

/** A tenant's bookings that one process makes or moves at the same time: each waits with a connection in its hands. */
const atOnce = 4;
const mostWaiting = 2_000;

export const newBookingTurns = () => new Turns(atOnce, mostWaiting);

export interface BookingServices extends EffectSettings {
  bookingTurns: Turns;
}

/** Bookings of one host are made one after the other, so that what is checked still holds when it is written. */
export const takeHost = (tx: Transaction, hostId: string): Promise<void> => takeTurn(tx, `bookings of ${hostId}`);

/** Whether PostgreSQL refused a row because the hold of another one overlaps its own. */
function isOverlap(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ((at as { code?: unknown }).code === '23P01') return true;
  }
  return false;
}

/**
 * Does what writes a booking.
 * @param time that is being booked, for the refusal of the constraint, which only a mistake of ours could reach
 */
export async function inBookingTurn<Result>(
  { bookingTurns }: BookingServices,
  scope: Scope,
  time: { start: string },
  work: () => Promise<Result>,
): Promise<Result> {
  const { organizationId } = scope.tenant;
  if (!bookingTurns.hasRoom(organizationId)) throw unavailable('Booking');
  try {
    return await bookingTurns.run(organizationId, work);
  } catch (error) {
    if (!isOverlap(error)) throw error;
    const facts = { start: time.start, reason: 'booked' };
    throw new AppError('conflict', 'The time is taken.', facts, { code: 'slot_unavailable' });
  }
}
