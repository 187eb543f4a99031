import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setWorkflowOptions,
} from '@temporalio/workflow';
import type { MessageActivities } from '../activities/messages.ts';
import type { MessagePolicy, MessageProgress, ReplyToMessageArgs } from '../src/temporal/contracts/conversation.ts';
import { withSentence } from '../src/temporal/contracts/failure-sentences.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import { orElse } from './or-else.ts';
import { retryWithoutLimit } from './retry-options.ts';

/** A model that answers at once, and what is recorded of it: a local activity, which needs no task of its own. */
const local = proxyLocalActivities<MessageActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 3 },
});

/** Retried without limit: the row has a deadline, after which the activity itself records the end. */
const called = (startToCloseTimeout: number, { heartbeatTimeoutMs, retry }: MessagePolicy) =>
  proxyActivities<MessageActivities>({
    startToCloseTimeout,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: retryWithoutLimit(retry),
  });

/**
 * One message and its reply: questions to the model and calls of the tools that it asks for, until it answers in words. The
 * activities record what each of them gave. When the message fails this workflow fails too, so that operators find it among
 * the failed ones.
 */
export async function takeTurn({ policy, streams, isInstant, ...ref }: ReplyToMessageArgs): Promise<void> {
  const models = called(policy.modelTimeoutMs, policy);
  const tools = called(policy.toolTimeoutMs, policy);

  const ask = (round: number): Promise<MessageProgress> => {
    setCurrentDetails(`Calls the model, round ${round}. Cancel to give the credits back.`);
    const question = { ...ref, round, streams };
    const askAnywhere = () => models.askModel(question);
    return isInstant ? orElse(local.askModel(question), askAnywhere) : askAnywhere();
  };

  try {
    for (let round = 1; ; round++) {
      const progress = await ask(round);
      if (progress.kind === 'ended') return setCurrentDetails('');
      if (progress.kind === 'failed') {
        const { code } = progress;
        setCurrentDetails(`Failed: ${withSentence(code)}`);
        const details = { turnId: ref.turnId, code };
        throw ApplicationFailure.nonRetryable(
          `The message failed: ${withSentence(code)}`,
          failureTypes.messageFailed,
          details,
        );
      }
      for (const [done, call] of progress.calls.entries()) {
        const count = `${done + 1} of ${progress.calls.length}`;
        setCurrentDetails(`Calls a tool, ${count} in round ${round}. Cancel to give the credits back.`);
        await tools.callTool({ ...ref, round, call });
      }
    }
  } catch (failure) {
    // An operator cancelled it.
    if (isCancellation(failure)) {
      setCurrentDetails('Is being cancelled: its credits are given back.');
      await CancellationScope.nonCancellable(() => tools.recordTurnCancelled(ref));
    }
    throw failure;
  }
}
// One may wait behind others for minutes, and workers of an earlier version may be gone by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, takeTurn);
