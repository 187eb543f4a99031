import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { IntegrationEventActivities } from '../activities/integration-events.ts';
import {
  type FetchEventsArgs,
  type FetchEventsPolicy,
  fetchEventsMessages,
} from '../src/temporal/contracts/integration-events.ts';
import { retryWithoutLimit } from './activity-calls.ts';

const wake = defineSignal(fetchEventsMessages.wake);

/** A workflow that is not in the cache is replayed from its whole history. */
const maxHistoryLength = 500;

/** A refusal of a provider does not fail the activity, so it fails only if the database cannot be reached. */
const proxied = ({ timeoutMs, heartbeatTimeoutMs, firstPauseMs, longestPauseMs }: FetchEventsPolicy) =>
  proxyActivities<IntegrationEventActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: retryWithoutLimit({ initialIntervalMs: firstPauseMs, backoff: 2, maximumIntervalMs: longestPauseMs }),
  });

/**
 * Fetches the data of a connection's events that name only where these are. It ends when none waits; the next event starts
 * it anew. The rows in PostgreSQL are the truth.
 */
export async function fetchEvents(args: FetchEventsArgs): Promise<void> {
  const { policy, ...ref } = args;
  const activities = proxied(policy);
  let isWoken = false;
  const look = () => {
    isWoken = true;
  };
  setHandler(wake, look, { description: 'Look at the events that wait. The product sends this.' });
  for (;;) {
    isWoken = false;
    setCurrentDetails('Fetches the data of events from the provider.');
    const progress = await activities.fetchNextEvents({ ...ref, requestMs: policy.requestMs });
    if (progress.kind === 'over' && !isWoken) return setCurrentDetails('');
    if (progress.kind === 'pause') {
      const { limited, ms } = progress;
      const pause = Math.min(Math.max(ms, policy.firstPauseMs), limited ? 3_600_000 : policy.longestPauseMs);
      setCurrentDetails(
        limited ? 'The provider asked to wait.' : 'The provider did not return the data. The request is repeated.',
      );
      if (limited) await sleep(pause);
      else await condition(() => isWoken, pause);
    }
    if (workflowInfo().continueAsNewSuggested || workflowInfo().historyLength > maxHistoryLength) {
      await continueAsNew<typeof fetchEvents>(args);
    }
  }
}
// It may wait for hours, and workers of an earlier version may have ended by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, fetchEvents);
