import { Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database.ts';
import type { Waiters } from '../src/platform/waiters.ts';
import { ProviderFailure } from '../src/providers/ports.ts';
import { type AdvanceServices, advanceGeneration } from '../src/studio/advance-generation.ts';
import { cancelAtProvider } from '../src/studio/cancel-generation.ts';
import { type Ending, stopGeneration } from '../src/studio/end-generation.ts';
import type { GenerationProgress } from '../src/temporal/contracts/studio.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

/** How often the cancellation of a job is sent to its provider. */
const cancelAttempts = 4;

/** @param isLast the failure of the last attempt is none */
async function withoutRetries(isLast: boolean, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    if (isLast) return;
    if (!(failure instanceof ProviderFailure)) throw failure;
    if (failure.retryable) throw retryableFailure(failure);
  }
}

export type GenerationRef = Ending & WorkContext;

export interface GenerationActivityServices extends Omit<AdvanceServices, 'waiters'> {
  database: Database;
  generationWaiters: Waiters;
}

export const createGenerationActivities = ({
  database,
  generationWaiters: waiters,
  ...rest
}: GenerationActivityServices) => {
  const services = { ...rest, waiters };
  return {
    /** Asks the provider once where a generation stands, and records its end. Fails retryably while that may change. */
    async advanceGeneration(
      ref: GenerationRef & { maxAttempts: number; withoutFile?: number },
    ): Promise<GenerationProgress> {
      const { attempt } = Context.current().info;
      // Absent in the calls of workflows of an earlier version.
      const { maxAttempts, withoutFile = 0 } = ref;
      try {
        return await withHeartbeats(heartbeatMs, (signal) =>
          advanceGeneration(services, scopeOf(database, ref), ref, { attempt, maxAttempts, withoutFile, signal }),
        );
      } catch (failure) {
        throw failure instanceof ProviderFailure ? retryableFailure(failure) : failure;
      }
    },

    /**
     * Records the generation as cancelled, unless it has ended, and tells its provider. A provider that does not listen is
     * told a few times, and no failure.
     */
    async recordGenerationCancelled(ref: GenerationRef): Promise<void> {
      const { info, cancellationSignal: signal } = Context.current();
      const scope = scopeOf(database, ref);
      await stopGeneration(services, scope, ref, null);
      await withoutRetries(info.attempt >= cancelAttempts, () =>
        cancelAtProvider(services, scope, ref.generationId, { attempt: info.attempt, signal }),
      );
    },
  };
};

export type GenerationActivities = ReturnType<typeof createGenerationActivities>;
