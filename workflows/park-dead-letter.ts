import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../activities/webhooks.ts';
import { searchAttributes } from '../src/temporal/contracts/search-attributes.ts';
import {
  type DeadLetterProgress,
  deliveryMessages,
  type LetterEnd,
  type ParkDeadLetterArgs,
  webhookWorkflowId,
} from '../src/temporal/contracts/webhooks.ts';

const deliveryStatus = defineSearchAttributeKey(searchAttributes.deliveryStatus, SearchAttributeType.KEYWORD);

const replay = defineSignal(deliveryMessages.replay);
const discard = defineSignal(deliveryMessages.discard);
const resume = defineSignal(deliveryMessages.resume);
const replayNow = defineUpdate<string, []>(deliveryMessages.replayNow);

// These work with our own database alone. They are repeated without limit, because an operator's order would be lost otherwise;
// the workflow itself ends after its days.
const retry = { initialInterval: '1 second', maximumInterval: '30 seconds' } as const;
const rows = proxyLocalActivities<Pick<WebhookActivities, 'lookAtLetter' | 'replayDeadLetter' | 'discardDeadLetter'>>({
  startToCloseTimeout: '20 seconds',
  retry,
});
const attempts = proxyActivities<Pick<WebhookActivities, 'awaitAttempt'>>({
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '10 seconds',
  retry,
});

const endOf = (progress: DeadLetterProgress): LetterEnd => {
  switch (progress.kind) {
    case 'over':
      return progress.status;
    case 'wait':
      return 'retrying';
    default:
      return 'dead_lettered';
  }
};

/**
 * A dead letter: waits until it is replayed or discarded. An operator who replays it by `replayNow` gets the outcome of the
 * first attempt. The row in PostgreSQL is the truth.
 */
export async function parkDeadLetter(args: ParkDeadLetterArgs): Promise<LetterEnd> {
  const { why, parkedMs, subscriptionId, ...ref } = args;
  const asked = { replay: false, discard: false, look: false };
  let progress: DeadLetterProgress = { kind: 'dead_lettered', why };
  let parked = true;
  /** How often the delivery was replayed, discarded, or otherwise left the dead letters. */
  let rounds = 0;

  const detailsOf = (): string => {
    switch (progress.kind) {
      case 'dead_lettered':
        return `**Dead-lettered**: ${progress.why}. It waits for the signal \`replay\`, the update \`replayNow\` or the signal \`discard\`.`;
      case 'left':
        return '**Dead-lettered**. Many dead letters of its webhook are newer; a redrive, the command line and the API replay it.';
      case 'wait': {
        const when = progress.ms > 0 ? `in ${Math.ceil(progress.ms / 1000)} s` : 'now';
        return `**Retrying**: the next attempt is due ${when}. The workflow \`${webhookWorkflowId(subscriptionId)}\` makes its attempts.`;
      }
      case 'over':
        return progress.status === 'delivered' ? '**Delivered**.' : '**Failed** for good.';
    }
  };
  const ask = (what: 'replay' | 'discard') => {
    if (parked) asked[what] = true;
  };
  const description = (text: string) => ({ description: text });
  setHandler(replay, () => ask('replay'), description('Replay this dead letter: a whole new schedule of attempts.'));
  setHandler(discard, () => ask('discard'), description('Give this dead letter up for ever.'));
  const look = () => {
    asked.look = true;
  };
  setHandler(resume, look, description('Look at the row again. The product sends this.'));
  setHandler(
    replayNow,
    async () => {
      const round = rounds;
      asked.replay = true;
      await condition(() => rounds > round);
      return detailsOf();
    },
    {
      ...description('Replay this dead letter and wait for its first attempt.'),
      validator() {
        if (!parked) throw new Error(`Only a dead letter can be replayed; this delivery is ${endOf(progress)}.`);
      },
    },
  );

  let shown: LetterEnd = 'dead_lettered';
  const showState = () => {
    setCurrentDetails(detailsOf());
    const status = endOf(progress);
    if (status !== shown) upsertSearchAttributes([{ key: deliveryStatus, value: status }]);
    shown = status;
  };
  const replayed = async (): Promise<DeadLetterProgress> => {
    const renewed = await rows.replayDeadLetter(ref);
    return renewed.kind === 'wait' ? attempts.awaitAttempt(ref) : renewed;
  };
  const looked = async (): Promise<DeadLetterProgress> => {
    const now = await rows.lookAtLetter(ref);
    // Another caller has replayed it: its first attempt is due.
    return now.kind === 'wait' && now.ms === 0 ? attempts.awaitAttempt(ref) : now;
  };

  for (showState(); progress.kind === 'dead_lettered' || asked.look; showState()) {
    const woken = await condition(() => asked.replay || asked.discard || asked.look, parkedMs);
    if (!woken) return 'dead_lettered';
    const wanted = { ...asked };
    Object.assign(asked, { replay: false, discard: false, look: false });
    // During a look, a replay or a discard can still be requested.
    const decided = parked && (wanted.replay || wanted.discard);
    parked = parked && !decided;
    if (decided && wanted.replay) progress = await replayed();
    else if (decided) progress = await rows.discardDeadLetter(ref);
    else progress = await looked();
    parked = progress.kind === 'dead_lettered';
    if (!parked) Object.assign(asked, { replay: false, discard: false });
    if (decided || !parked) rounds++;
    if (progress.kind === 'dead_lettered' && workflowInfo().continueAsNewSuggested) {
      if (asked.look || asked.replay || asked.discard) continue;
      await condition(allHandlersFinished);
      await continueAsNew<typeof parkDeadLetter>({ ...args, why: progress.why });
    }
  }
  await condition(allHandlersFinished);
  return endOf(progress);
}
// A dead letter waits for weeks, through many versions of this code.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, parkDeadLetter);
