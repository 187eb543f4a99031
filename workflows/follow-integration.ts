import { proxyActivities, setCurrentDetails, setWorkflowOptions } from '@temporalio/workflow';
import type { FollowActivities } from '../activities/followed-integrations.ts';
import type {
  FollowIntegrationArgs,
  FollowOutcome,
  FollowPolicy,
} from '../src/temporal/contracts/followed-integrations.ts';
import { retryWithoutLimit } from './activity-calls.ts';

const proxied = ({ timeoutMs, heartbeatTimeoutMs, retry }: FollowPolicy) =>
  proxyActivities<FollowActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { ...retryWithoutLimit(retry), maximumAttempts: retry.maximumAttempts },
  });

/**
 * Polls a provider once for the events of a connection, and keeps its subscriptions alive. Started by the connection's
 * Schedule, by a change of its webhooks, or in Temporal's web UI. A refusal of the provider is an outcome and not a
 * failure, because the next run follows anyway.
 */
export async function followIntegration({ policy, ...ref }: FollowIntegrationArgs): Promise<FollowOutcome> {
  setCurrentDetails('Fetches events from the provider.');
  const outcome = await proxied(policy).followConnection({ ...ref, requestMs: policy.requestMs });
  setCurrentDetails('failed' in outcome ? `The provider refused: ${outcome.failed}.` : '');
  return outcome;
}
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, followIntegration);
