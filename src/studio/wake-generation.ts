import type { TemporalClient } from '../temporal/client.ts';
import { generationMessages } from '../temporal/contracts/studio.ts';
import { generationJob } from './job.ts';

/** Has the workflow ask the provider now. Harmless when it is over or was never started. */
export const wakeGeneration = (temporal: TemporalClient, generationId: string): Promise<void> =>
  temporal.signalIfOpen(generationJob.workflowId(generationId), generationMessages.providerReported);
