import { Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database.ts';
import type { Log } from '../src/platform/log.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import type { Waiters } from '../src/platform/waiters.ts';
import { type AdvanceServices, advanceGeneration } from '../src/studio/advance-generation.ts';
import { cancelAtProvider } from '../src/studio/cancel-generation.ts';
import type { GenerationError } from '../src/studio/core/status.ts';
import { type Ending, stopGeneration } from '../src/studio/end-generation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { GenerationProgress } from '../src/temporal/contracts/studio.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { failingUnexpected } from './unexpected-error.ts';
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

const unexpected: GenerationError = { code: 'provider_error', message: 'Something went wrong on our side.' };

export interface GenerationActivityServices extends Omit<AdvanceServices, 'waiters'> {
  database: Database;
  log: Log;
  generationWaiters: Waiters;
}

export const createGenerationActivities = ({
  database,
  log,
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
      const scope = scopeOf(database, ref);
      const job = {
        log,
        kind: 'generation',
        facts: { generationId: ref.generationId },
        failureType: failureTypes.generationFailed,
        fail: () => stopGeneration(services, scope, ref, unexpected),
      };
      return failingUnexpected(job, async () => {
        try {
          return await withHeartbeats(heartbeatMs, (signal) =>
            advanceGeneration(services, scope, ref, { attempt, maxAttempts, withoutFile, signal }),
          );
        } catch (failure) {
          throw failure instanceof ProviderFailure ? retryableFailure(failure) : failure;
        }
      });
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
