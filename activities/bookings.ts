import type { PerformServices } from '../src/scheduling/effects/attempt.ts';
import { performEffects } from '../src/scheduling/effects/perform-effects.ts';
import type { BookingProgress } from '../src/temporal/contracts/scheduling.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 2_000;

export interface BookingRef extends WorkContext {
  bookingId: string;
}

export const createBookingActivities = (services: PerformServices) => ({
  /** Performs what is due of a booking. What fails is noted, and no failure of the activity. */
  async performEffects({ bookingId, retry, ...ref }: BookingRef & { retry: boolean }): Promise<BookingProgress> {
    return withHeartbeats(heartbeatMs, (signal) =>
      performEffects(services, scopeOf(services.database, ref), bookingId, { retry, signal }),
    );
  },
});

export type BookingActivities = ReturnType<typeof createBookingActivities>;
