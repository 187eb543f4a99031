import { Context } from '@temporalio/activity';
import type { Database } from '../src/platform/database/database.ts';
import type { Log } from '../src/platform/observability/log.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import { type AdvanceServices, advanceGeneration } from '../src/studio/advance-generation.ts';
import { cancelAtProvider } from '../src/studio/cancel-generation.ts';
import { generationJob } from '../src/studio/job.ts';
import type { JobContext } from '../src/temporal/contracts/jobs.ts';
import type { GenerationProgress } from '../src/temporal/contracts/studio.ts';
import { jobActivities, retryableFailure, scopeOf } from './activity-context.ts';

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

interface GenerationActivityServices extends AdvanceServices {
  database: Database;
  log: Log;
}

interface AdvanceRef extends JobContext {
  maxAttempts: number;
  withoutFile?: number;
}

export const createGenerationActivities = (services: GenerationActivityServices) => {
  const { attempt, recordCancelled } = jobActivities(generationJob, services);
  return {
    /**
     * Polls the provider once for the state of a generation, and records its end. Fails retryably while the state may
     * change.
     */
    advanceGeneration({ maxAttempts, withoutFile = 0, ...ref }: AdvanceRef): Promise<GenerationProgress> {
      return attempt(ref, async (scope, call) => {
        const progress = await advanceGeneration(services, scope, ref, { ...call, maxAttempts, withoutFile });
        // It keeps this process busy no longer, and the next one of its tenant may start.
        if (progress.kind === 'wait') services.generationWaiters.notifyLocal(ref.id);
        return progress;
      });
    },

    /**
     * Records the generation as cancelled, unless it has ended, and cancels the job at its provider: a few times, where
     * that fails.
     */
    async recordGenerationCancelled(ref: JobContext): Promise<void> {
      const { info, cancellationSignal: signal } = Context.current();
      await recordCancelled(ref);
      await withoutRetries(info.attempt >= cancelAttempts, () =>
        cancelAtProvider(services, scopeOf(services.database, ref), ref.id, { attempt: info.attempt, signal }),
      );
    },
  };
};

export type GenerationActivities = ReturnType<typeof createGenerationActivities>;
