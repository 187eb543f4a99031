import { proxyActivities } from '@temporalio/workflow';
import type { PurgeActivities } from '../activities/purge.ts';
import type { PurgeAutomationArgs } from '../src/temporal/contracts/automation.ts';

const database = proxyActivities<PurgeActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

/** What follows the deletion of a workflow: its runs in flight are cancelled, then its rows go, batch by batch. */
export async function purgeAutomation(purge: PurgeAutomationArgs): Promise<void> {
  while (await database.cancelRunsInFlight(purge));
  while (await database.purgeSome(purge));
}
