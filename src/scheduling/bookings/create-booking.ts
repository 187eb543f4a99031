import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import { followWork } from '../effects/enqueue-effects.ts';
import { type BookBatchServices, bookTogether } from './book-batch.ts';
import { queueCreate } from './booking-queues.ts';
import type { BookingView } from './booking-view.ts';
import type { NewBooking } from './check-booking.ts';

/**
 * Books a time, once per Idempotency-Key; a refusal does not use the key up. Bookings of one host take turns, so that
 * limits hold too; the constraint on holds is what no mistake gets past.
 * @throws AppError validation_error, not_found, idempotency_key_reused, and the codes of `schedulingErrors`
 */
export async function createBooking(
  services: BookBatchServices,
  scope: Scope,
  input: NewBooking,
  claim?: IdempotencyClaim,
): Promise<Once<BookingView>> {
  const asked = { id: newId(), scope, input, claim };
  const { outcome, entryId } = await queueCreate(services, asked, (all) => bookTogether(services, all));
  // With the correlation id of this request, and not that of another one in its batch.
  if (entryId !== undefined) await scope.attempt([{ kind: followWork, subjectId: outcome.id, entryId }]);
  return { outcome, replayed: entryId === undefined };
}
