import { priorities } from '../src/temporal/contracts/priorities.ts';
import { queues } from '../src/temporal/contracts/queues.ts';
import { webhookWorkflows } from '../src/temporal/contracts/webhooks.ts';
import { EventAddresser } from '../src/webhooks/addressing/address-events.ts';
import { DeadLetterWorkflows } from '../src/webhooks/dead-letters/dead-letter-workflows.ts';
import { FanOut } from '../src/webhooks/deliveries/fan-out.ts';
import { Dispatcher } from '../src/webhooks/dispatch/dispatcher.ts';
import { startActivityWorker } from './activity-worker.ts';
import { prepareBundle } from './bundle.ts';
import { deploymentOf, promoteVersion } from './deployment.ts';
import { allEnded, type RoleContext, type RunningRole } from './running-role.ts';
import { ensureSchedule } from './schedules.ts';
import { startWorkflowWorker, type WorkflowSlots } from './workflow-worker.ts';

/** Attempts spend nearly all of their time waiting for receivers. */
const maxConcurrentAttempts = 200;

/**
 * Their workflows mostly wait, for minutes up to weeks. In a cache of their own they evict no run, and one that was evicted
 * is replayed from a short history.
 */
const slots: WorkflowSlots = { tasks: 20, cached: 200, polls: 4 };

/**
 * Makes the attempts of deliveries, first ones from the database and further ones for the workflows of webhooks, and
 * runs these workflows. All of them continue with the code of a new version, so earlier ones need no worker.
 */
export async function startWebhooksWorker(context: RoleContext): Promise<RunningRole> {
  const { services, connection, processStopping } = context;
  const { env, log, temporal } = services;
  const [worker, bundle] = await Promise.all([
    startActivityWorker(context, maxConcurrentAttempts),
    prepareBundle(env.WORKFLOW_BUNDLE_DIR, undefined, processStopping),
  ]);
  const version = {
    deploymentName: deploymentOf(env.TEMPORAL_TASK_QUEUE_PREFIX, queues.webhooks),
    buildId: bundle.version,
  };
  const workflows = await startWorkflowWorker(context, connection, bundle, version, slots);
  if (env.WORKER_AUTO_PROMOTE) await promoteVersion(temporal.client, version, { log, stopping: processStopping });
  await ensureSchedule(services, {
    workflowType: webhookWorkflows.redriveDeadLetters,
    queue: queues.webhooks,
    priority: priorities.operator,
    pauseNote: 'It has no times. Its Trigger button replays every dead letter of webhooks.',
  });
  // After all that may fail: the loops are stopped by the role alone.
  const isRunAwaited = (withinMs: number) => services.waiters.waitedWithin(withinMs);
  const deadLetterWorkflows = new DeadLetterWorkflows({ ...services, isRunAwaited });
  const dispatcher = new Dispatcher({ ...services, onDeadLetter: () => deadLetterWorkflows.wake(), isRunAwaited });
  services.deliveries.onWake(() => dispatcher.wake());
  dispatcher.start();
  deadLetterWorkflows.start();
  const fanOut = new FanOut(services);
  fanOut.start();
  const addresser = new EventAddresser(services);
  services.addressing.onWake(() => addresser.wake());
  addresser.start();
  return {
    failed: Promise.race([worker.failed, workflows.done]),
    async stop() {
      workflows.shutdown();
      const loops = [dispatcher, deadLetterWorkflows, fanOut, addresser];
      await allEnded([worker.stop(), workflows.done, ...loops.map((loop) => loop.stop())]);
    },
  };
}
