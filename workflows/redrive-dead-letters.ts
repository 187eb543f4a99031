import { continueAsNew, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { RedriveActivities } from '../activities/redrive.ts';
import type { RedriveArgs, RedriveOutcome } from '../src/temporal/contracts/webhooks.ts';

/** On the queue that this workflow runs on: an operator who starts it by hand names no other. */
const { redrivePage } = proxyActivities<RedriveActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 20 },
});

const perPage = 20;
const perSecondByDefault = 20;

/** Where one that goes on in a new history had come to. */
interface Carried {
  until: string;
  after: Awaited<ReturnType<RedriveActivities['redrivePage']>>['next'];
  replayed: number;
}

/**
 * Replays dead letters one after the other, slowly enough for their receivers: what an operator starts in Temporal's web
 * UI, or by the trigger of its Schedule, in place of a signal to many. Those that fail again are not met again.
 */
export async function redriveDeadLetters(given?: RedriveArgs | null, carried?: Carried): Promise<RedriveOutcome> {
  // A form that was left empty may send null. Whatever else it sends, the activity reads and refuses.
  const filter = given ?? {};
  const until = carried?.until ?? workflowInfo().startTime.toISOString();
  let { after, replayed } = carried ?? { after: undefined, replayed: 0 };
  for (;;) {
    const page = await redrivePage({ filter, until, limit: perPage, ...(after && { after }) });
    replayed += page.replayed;
    setCurrentDetails(`${replayed} dead letters replayed.`);
    after = page.next;
    if (!after) return { replayed };
    await sleep(Math.ceil((page.replayed * 1000) / (filter.perSecond ?? perSecondByDefault)));
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof redriveDeadLetters>(filter, { until, after, replayed });
    }
  }
}
