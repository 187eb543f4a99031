import type { PerformServices } from '../src/scheduling/effects/attempt.ts';
import { performEffects } from '../src/scheduling/effects/perform-effects.ts';
import { recordFailureOfDue } from '../src/scheduling/effects/record-effects.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { BookingProgress } from '../src/temporal/contracts/scheduling.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { failingUnexpected } from './unexpected-error.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 2_000;
const unexpected = 'An unexpected error. An operator can try it again.';

interface BookingRef extends WorkContext {
  bookingId: string;
}

export const createBookingActivities = (services: PerformServices) => ({
  /**
   * Performs the due effects of a booking. A failed effect is recorded and does not fail the activity. After five
   * attempts that failed unexpectedly, the due effects have failed until an operator retries them.
   */
  async performEffects({ bookingId, retry, ...ref }: BookingRef & { retry: boolean }): Promise<BookingProgress> {
    const scope = scopeOf(services.database, ref);
    return failingUnexpected(
      {
        log: services.log,
        kind: 'booking effects',
        facts: { bookingId, correlationId: ref.correlationId },
        failureType: failureTypes.bookingEffectsFailed,
        fail: () => recordFailureOfDue(scope, bookingId, unexpected),
      },
      () => withHeartbeats(heartbeatMs, (signal) => performEffects(services, scope, bookingId, { retry, signal })),
    );
  },
});

export type BookingActivities = ReturnType<typeof createBookingActivities>;
