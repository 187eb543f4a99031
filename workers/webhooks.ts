import { webhookWorkflows } from '../src/temporal/contracts/webhooks.ts';
import { Dispatcher } from '../src/webhooks/dispatcher.ts';
import { startActivityWorker } from './activity-worker.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { ensureSchedule } from './schedules.ts';

/** Attempts spend nearly all of their time waiting for receivers. */
const attemptsAtOnce = 200;

/** Makes the attempts of deliveries: first ones from the database, further ones for the deliveries' workflows. */
export async function startWebhooksWorker(context: RoleContext): Promise<RunningRole> {
  const { services } = context;
  const worker = await startActivityWorker(context, attemptsAtOnce);
  const dispatcher = new Dispatcher(services);
  services.deliveries.onWake(() => dispatcher.wake());
  dispatcher.start();
  await ensureSchedule(services, {
    workflowType: webhookWorkflows.redriveDeadLetters,
    everyMs: 24 * 3_600_000,
    state: { paused: true, note: 'Paused on purpose: its Trigger button replays every dead letter of webhooks.' },
  });
  return {
    failed: worker.failed,
    async stop() {
      await Promise.all([worker.stop(), dispatcher.stop()]);
    },
  };
}
