import { patched, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const chores = proxyActivities<Activities>({
  startToCloseTimeout: '5 minutes',
  retry: { initialInterval: '10 seconds', maximumInterval: '5 minutes', maximumAttempts: 5 },
});

/** What has to be done now and then. One chore that fails does not keep the others from being done. */
export async function housekeeping(): Promise<void> {
  const begun = [chores.noticeExpiringKeys(), chores.forgetOldVitals()];
  if (patched('notices-of-webhooks')) begun.push(chores.noticeTurnedOffWebhooks());
  const done = await Promise.allSettled(begun);
  for (const chore of done) if (chore.status === 'rejected') throw chore.reason;
}
