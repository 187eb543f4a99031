import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../activities/webhooks.ts';
import { queues } from '../src/temporal/contracts/queues.ts';
import { searchAttributes } from '../src/temporal/contracts/search-attributes.ts';
import {
  type DeliverWebhookArgs,
  type DeliveryProgress,
  deliveryMessages,
} from '../src/temporal/contracts/webhooks.ts';

const deliveryStatus = defineSearchAttributeKey(searchAttributes.deliveryStatus, SearchAttributeType.KEYWORD);

const replay = defineSignal(deliveryMessages.replay);
const discard = defineSignal(deliveryMessages.discard);
const resume = defineSignal(deliveryMessages.resume);
const replayNow = defineUpdate<string, []>(deliveryMessages.replayNow);

const proxied = (attemptsQueue: string = queues.webhooks.name) =>
  proxyActivities<WebhookActivities>({
    taskQueue: attemptsQueue,
    startToCloseTimeout: '1 minute',
    heartbeatTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  });

const statusOf = (progress: DeliveryProgress): string =>
  progress.kind === 'wait' ? 'retrying' : progress.kind === 'over' ? progress.status : progress.kind;

function detailsOf(progress: DeliveryProgress): string {
  switch (progress.kind) {
    case 'wait':
      return `**Retrying**: the next attempt is due in ${Math.ceil(progress.ms / 1000)} s.`;
    case 'dead_lettered':
      return `**Dead-lettered**: ${progress.why}. It waits for the signal \`replay\`, the update \`replayNow\` or the signal \`discard\`.`;
    case 'over':
      return progress.status === 'delivered' ? '**Delivered**.' : '**Failed** for good.';
  }
}

/**
 * The earlier form, which nothing starts any more: a delivery that failed once waits for each further attempt, and is
 * parked when they are used up, until somebody replays or discards it. Workflows that began so go on and end so. The row in
 * PostgreSQL is the truth; where this and the row part, the row is looked at again.
 */
export async function deliverWebhook(args: DeliverWebhookArgs): Promise<'delivered' | 'failed' | 'dead_lettered'> {
  const { begin, parkedMs, attemptsQueue, ...ref } = args;
  const activities = proxied(attemptsQueue);
  const asked = { replay: false, discard: false, look: false };
  let progress = begin;
  let parked = begin.kind === 'dead_lettered';
  /** How often something came of being parked. */
  let rounds = 0;

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
      return detailsOf(progress);
    },
    {
      ...description('Replay this dead letter and wait for its first attempt.'),
      validator() {
        if (!parked) throw new Error(`Only a dead letter can be replayed; this delivery is ${statusOf(progress)}.`);
      },
    },
  );

  let told = begin.kind === 'dead_lettered' ? 'dead_lettered' : 'retrying';
  const tell = () => {
    setCurrentDetails(detailsOf(progress));
    const status = statusOf(progress);
    if (status !== told) upsertSearchAttributes([{ key: deliveryStatus, value: status }]);
    told = status;
  };

  // One that is held back for days asks for days.
  const goOnAnew = async () => {
    if (!workflowInfo().continueAsNewSuggested || asked.look || asked.replay || asked.discard) return;
    await condition(allHandlersFinished);
    await continueAsNew<typeof deliverWebhook>({ ...args, begin: progress });
  };

  for (tell(); progress.kind !== 'over'; tell()) {
    if (progress.kind === 'wait') {
      const changed = await condition(() => asked.look, progress.ms);
      asked.look = false;
      progress = changed ? await activities.lookAtDelivery(ref) : await activities.attemptDelivery(ref);
      if (progress.kind === 'wait') await goOnAnew();
      continue;
    }
    parked = true;
    const woken = await condition(() => asked.replay || asked.discard || asked.look, parkedMs);
    if (!woken) return 'dead_lettered';
    const wanted = { ...asked };
    Object.assign(asked, { replay: false, discard: false, look: false });
    // While it only looks, it may be asked still.
    const decided = wanted.replay || wanted.discard;
    parked = !decided;
    if (wanted.replay) progress = await replayed(activities, ref);
    else if (wanted.discard) progress = await activities.discardDeadLetter(ref);
    else progress = await activities.lookAtDelivery(ref);
    parked = progress.kind === 'dead_lettered';
    // Somebody else replayed or ended it.
    if (!parked) Object.assign(asked, { replay: false, discard: false });
    if (decided || !parked) rounds++;
    if (progress.kind !== 'over') await goOnAnew();
  }
  await condition(allHandlersFinished);
  return progress.status;
}
// A dead letter waits for weeks, through many versions of this code.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, deliverWebhook);

/** Whoever waits for the outcome learns of the first attempt, not of the replay alone. */
async function replayed(
  activities: ReturnType<typeof proxied>,
  ref: Parameters<WebhookActivities['attemptDelivery']>[0],
): Promise<DeliveryProgress> {
  const renewed = await activities.replayDeadLetter(ref);
  return renewed.kind === 'wait' ? activities.attemptDelivery(ref) : renewed;
}
