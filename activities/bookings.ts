import { Context } from '@temporalio/activity';
import type { PerformServices } from '../src/scheduling/effects/attempt.ts';
import { performEffects } from '../src/scheduling/effects/perform-effects.ts';
import { recordFailureOfDue, retryAllNow } from '../src/scheduling/effects/record-effects.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { BookingProgress } from '../src/temporal/contracts/scheduling.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { failingUnexpected, scopeOf, withHeartbeats } from './activity-context.ts';

const heartbeatMs = 2_000;
const unexpected = 'An unexpected error. An operator can try it again.';

interface BookingRef extends WorkContext {
  bookingId: string;
}

/** What the next attempt has to know, in the heartbeats. */
interface Details {
  /** Whether what failed was made due, as an operator asked. */
  isRetried: boolean;
}

export const createBookingActivities = (services: PerformServices) => ({
  /**
   * Performs the due effects of a booking. A failed effect is recorded and does not fail the activity. After five
   * attempts that failed unexpectedly, the due effects have failed until an operator retries them.
   * @param retry whether an operator asks for what failed. Done once, however often the activity is attempted: a mail that
   *   fails in the attempt may have arrived
   */
  async performEffects({ bookingId, retry, ...ref }: BookingRef & { retry: boolean }): Promise<BookingProgress> {
    const scope = scopeOf(services.database, ref);
    const context = Context.current();
    const details: Details = { isRetried: (context.info.heartbeatDetails as Details | undefined)?.isRetried ?? false };
    const perform = async (signal: AbortSignal) => {
      if (retry && !details.isRetried) {
        await retryAllNow(scope, bookingId);
        details.isRetried = true;
        context.heartbeat(details);
      }
      return performEffects(services, scope, bookingId, signal);
    };
    return failingUnexpected(
      {
        log: services.log,
        kind: 'booking effects',
        facts: { bookingId, correlationId: ref.correlationId },
        failureType: failureTypes.bookingEffectsFailed,
        fail: () => recordFailureOfDue(scope, bookingId, unexpected),
      },
      () => withHeartbeats(heartbeatMs, perform, () => details),
    );
  },
});

export type BookingActivities = ReturnType<typeof createBookingActivities>;
