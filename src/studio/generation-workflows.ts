import type { MediaKind } from '../providers/core/media/models.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { queues } from '../temporal/contracts/queues.ts';
import {
  generationMessages,
  generationWorkflowId,
  type MakeGenerationArgs,
  studioWorkflows,
} from '../temporal/contracts/studio.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';
import { formatId } from './core/ids.ts';

/** Starts the workflow of a generation. Harmless when it was started before, even when it is over. */
export const startMakeGeneration = (
  temporal: TemporalClient,
  args: MakeGenerationArgs,
  kind: MediaKind,
  fairness: Fairness,
): Promise<void> =>
  temporal.start({
    type: studioWorkflows.makeGeneration,
    workflowId: generationWorkflowId(args.generationId),
    queue: queues.generation,
    // Nobody waits for a video at the other end of a request.
    priority: kind === 'video' ? priorities.retry : priorities.prompt,
    args,
    resourceId: args.generationId,
    summary: formatId(kind, args.generationId),
    fairness,
    once: true,
  });

/** Asks the workflow of a generation to stop. Harmless when it is over or was never started. */
export const cancelMakeGeneration = (temporal: TemporalClient, generationId: string): Promise<void> =>
  temporal.cancel(generationWorkflowId(generationId));

/** Has the workflow ask the provider now. Harmless when it is over or was never started. */
export const wakeMakeGeneration = (temporal: TemporalClient, generationId: string): Promise<void> =>
  temporal.signalIfOpen(generationWorkflowId(generationId), generationMessages.providerReported);
