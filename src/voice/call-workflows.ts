import type { TemporalClient } from '../temporal/client.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { type PerformVoiceCallArgs, voiceCallWorkflowId, voiceWorkflows } from '../temporal/contracts/voice.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';

/** Starts the workflow of a call. Harmless when it was started before, even when it is over. */
export const startPerformVoiceCall = (
  temporal: TemporalClient,
  args: PerformVoiceCallArgs,
  fairness: Fairness,
): Promise<void> =>
  temporal.start({
    type: voiceWorkflows.performVoiceCall,
    workflowId: voiceCallWorkflowId(args.callId),
    queue: queues.generation,
    priority: priorities.prompt,
    args,
    resourceId: args.callId,
    fairness,
    once: true,
  });
