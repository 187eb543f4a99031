import { Batcher } from '../../platform/concurrency/batcher.ts';
import { KeyedSemaphore } from '../../platform/concurrency/keyed-semaphore.ts';
import { lockAllForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { AppError, unavailable } from '../../platform/errors.ts';
import type { BookingSource } from '../core/events.ts';
import type { EffectSettings } from '../effects/enqueue-effects.ts';
import type { NewBooking } from './booking-input.ts';
import type { BookingView } from './booking-view.ts';

/** A request for a booking. */
export interface BookingRequest {
  /** UUID of the booking, if it is created. */
  id: string;
  scope: Scope;
  input: NewBooking;
  claim: IdempotencyClaim | undefined;
  source: BookingSource;
}

export interface CreatedBooking {
  outcome: BookingView;
  /** The outbox entry; undefined when an earlier request with the same key created the booking. */
  entryId: string | undefined;
}

/** Per tenant and process: each move, and each batch of new bookings, holds a connection while it waits. */
const [maxConcurrentMoves, maxConcurrentBatches] = [2, 2];
const maxWaiting = 2_000;
/** The hosts of a batch are locked until its commit, and a later request waits for at most one batch before its own. */
const perBatch = 16;

/** Bookings that one process moves and creates. */
export class BookingQueues {
  readonly moveSemaphore = new KeyedSemaphore(maxConcurrentMoves, maxWaiting);
  readonly createQueue = new Batcher<BookingRequest, CreatedBooking>({
    maxConcurrent: maxConcurrentBatches,
    weightOf: () => 1 / perBatch,
    maxWaiting,
  });
}

export interface BookingServices extends EffectSettings {
  bookingQueues: BookingQueues;
}

/** Bookings of one host are created one after the other, so that the checks still hold at the write. */
export const lockHosts = (tx: Transaction, hostIds: readonly string[]): Promise<void> =>
  lockAllForTransaction(
    tx,
    hostIds.map((id) => `bookings of ${id}`),
  );

/** Whether PostgreSQL refused a row because the hold of another one overlaps its own. */
function isOverlap(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ((at as { code?: unknown }).code === '23P01') return true;
  }
  return false;
}

/** The refusal of the constraint, which only a fault of the checks could reach: they come first. */
function asRefusal(error: unknown, start: string): unknown {
  if (!isOverlap(error)) return error;
  return new AppError('conflict', 'The time is taken.', { start, reason: 'booked' }, { code: 'slot_unavailable' });
}

/** Moves a booking, in its place in the tenant's queue. @param start that it is moved to */
export async function queueMove<Result>(
  { bookingQueues: { moveSemaphore } }: BookingServices,
  { environmentKey: key }: Scope,
  start: string,
  move: () => Promise<Result>,
): Promise<Result> {
  if (!moveSemaphore.canEnqueue(key)) throw unavailable('Booking');
  return moveSemaphore.run(key, move).catch((error) => {
    throw asRefusal(error, start);
  });
}

/**
 * Creates a booking, in one batch with other bookings that the tenant requests at the same time. @param work creates a
 * batch
 */
export async function queueCreate(
  { bookingQueues: { createQueue } }: BookingServices,
  request: BookingRequest,
  work: (batch: BookingRequest[]) => Promise<PromiseSettledResult<CreatedBooking>[]>,
): Promise<CreatedBooking> {
  const key = request.scope.environmentKey;
  if (!createQueue.canEnqueue(key)) throw unavailable('Booking');
  return createQueue.run(key, request, work).catch((error) => {
    throw asRefusal(error, request.input.start);
  });
}
