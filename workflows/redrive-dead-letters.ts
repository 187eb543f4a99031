import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setWorkflowOptions,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RedriveActivities } from '../activities/redrive.ts';
import type { RedriveArgs, RedriveOutcome } from '../src/temporal/contracts/webhooks.ts';

/** On the queue of this workflow: an operator who starts it by hand passes no other queue. */
const { redrivePage } = proxyActivities<RedriveActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 20 },
});

const perPage = 20;
const perSecondByDefault = 20;

/** Progress that continue-as-new passes on. */
interface Carried {
  until: string;
  after: Awaited<ReturnType<RedriveActivities['redrivePage']>>['next'];
  replayed: number;
}

/**
 * Replays dead letters one by one, at a rate that their receivers can bear. Operators start it in Temporal's web UI or
 * trigger its Schedule, because the web UI cannot signal many workflows at once. A dead letter that fails again is not
 * replayed twice.
 */
export async function redriveDeadLetters(given?: RedriveArgs | null, carried?: Carried): Promise<RedriveOutcome> {
  // An empty form in the web UI sends null. The activity validates everything else.
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
// A long redrive continues with the code of the new version.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, redriveDeadLetters);
