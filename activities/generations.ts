import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database.ts';
import type { Waiters } from '../src/platform/waiters.ts';
import { ProviderFailure } from '../src/providers/ports.ts';
import { type AdvanceServices, advanceGeneration } from '../src/studio/advance-generation.ts';
import { cancelAtProvider } from '../src/studio/cancel-generation.ts';
import { type Ending, stopGeneration } from '../src/studio/end-generation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { GenerationProgress } from '../src/temporal/contracts/studio.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

/** Times that a provider is told of a cancelled job. */
const cancelAttempts = 4;

/** @param isLast the failure of the last attempt is none */
async function withoutRetries(isLast: boolean, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (failure) {
    if (isLast) return;
    if (!(failure instanceof ProviderFailure)) throw failure;
    if (failure.retryable) throw toRetry(failure);
  }
}

const toRetry = ({ message, retryAfterMs }: ProviderFailure) =>
  ApplicationFailure.create({
    message,
    type: failureTypes.providerUnavailable,
    ...(retryAfterMs !== undefined && { nextRetryDelay: retryAfterMs }),
  });

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
    async advanceGeneration(ref: GenerationRef & { maxAttempts: number }): Promise<GenerationProgress> {
      const { info, cancellationSignal: signal, heartbeat } = Context.current();
      // A local one ends with its worker, and needs none.
      const beat = info.isLocal ? undefined : setInterval(() => heartbeat(), heartbeatMs);
      const { attempt } = info;
      try {
        const call = { attempt, maxAttempts: ref.maxAttempts, signal };
        return await advanceGeneration(services, scopeOf(database, ref), ref, call);
      } catch (failure) {
        throw failure instanceof ProviderFailure ? toRetry(failure) : failure;
      } finally {
        clearInterval(beat);
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
