import { proxyLocalActivities, setCurrentDetails, setWorkflowOptions } from '@temporalio/workflow';
import type { MessageActivities } from '../activities/messages.ts';
import {
  type MessageProgress,
  messageContract,
  type ReplyToMessageArgs,
} from '../src/temporal/contracts/conversation.ts';
import type { JobEnd } from '../src/temporal/contracts/jobs.ts';
import { orElse } from './activity-calls.ts';
import { jobActivities, runJob } from './job.ts';

/** A model that answers at once, and the record of its answer: a local activity, which needs no task of its own. */
const local = proxyLocalActivities<MessageActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 3 },
});

/**
 * One message and its reply: calls of the model and of the tools that it asks for, until it answers in words. The activities
 * record each result. The names `takeTurn` and `recordTurnCancelled` stay, because workflows of version 0.2.0 have them in
 * their histories.
 */
export async function takeTurn({ policy, streams, isInstant, ...ref }: ReplyToMessageArgs): Promise<void> {
  const models = jobActivities<MessageActivities>({ ...policy, timeoutMs: policy.modelTimeoutMs });
  const tools = jobActivities<MessageActivities>({ ...policy, timeoutMs: policy.toolTimeoutMs });

  const ask = (round: number): Promise<MessageProgress> => {
    setCurrentDetails(`Calls the model, round ${round}. Cancel to give the credits back.`);
    const call = { ...ref, round, streams };
    const askAnywhere = () => models.askModel(call);
    return isInstant ? orElse(local.askModel(call), askAnywhere) : askAnywhere();
  };
  const work = async (): Promise<JobEnd> => {
    for (let round = 1; ; round++) {
      const progress = await ask(round);
      if (progress.kind !== 'calls') return progress;
      for (const [done, call] of progress.calls.entries()) {
        const count = `${done + 1} of ${progress.calls.length}`;
        setCurrentDetails(`Calls a tool, ${count} in round ${round}. Cancel to give the credits back.`);
        await tools.callTool({ ...ref, round, call });
      }
    }
  };
  await runJob(messageContract, ref, { work, recordCancelled: () => tools.recordTurnCancelled(ref) });
}
// A message may wait behind others for minutes, and workers of an earlier version may have ended by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, takeTurn);
