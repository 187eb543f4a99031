import type { TemporalClient, WorkflowState } from '../temporal/client.ts';
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

/** @throws Error when Temporal does not answer in time */
export const callWorkflowState = (temporal: TemporalClient, callId: string): Promise<WorkflowState> =>
  temporal.state(voiceCallWorkflowId(callId));

/**
 * The calls whose workflows were terminated or timed out since then.
 * @throws Error when Temporal does not answer in time
 */
export async function stoppedCallIds(temporal: TemporalClient, since: Date): Promise<string[]> {
  const ids = await temporal.workflowIds(
    `TaskQueue = '${temporal.taskQueue(queues.generation)}' AND WorkflowType = '${voiceWorkflows.performVoiceCall}'
       AND ExecutionStatus IN ('Terminated', 'TimedOut') AND CloseTime >= '${since.toISOString()}'`,
  );
  const prefix = voiceCallWorkflowId('');
  return [...new Set(ids)].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
}
