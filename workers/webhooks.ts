import { type NativeConnection, Worker } from '@temporalio/worker';
import { createWebhookActivities } from '../activities/webhooks.ts';
import type { Services } from '../src/services.ts';
import { queues, taskQueueName } from '../src/temporal/contracts/queues.ts';
import { Dispatcher } from '../src/webhooks/dispatcher.ts';
import type { RunningRole } from './running-role.ts';
import { traceActivities } from './trace-work.ts';

/** Attempts wait for others' servers nearly all of their time. */
const attemptsAtOnce = 200;

/**
 * Makes the attempts of deliveries: first ones from the database, further ones for the workflows, which run where runs
 * do. Its activities are of no version: what they are asked outlives many.
 */
export async function startWebhooksWorker(services: Services, connection: NativeConnection): Promise<RunningRole> {
  const { env, tracing } = services;
  const worker = await Worker.create({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: taskQueueName(env.TEMPORAL_TASK_QUEUE_PREFIX, queues.webhooks),
    activities: createWebhookActivities(services),
    ...(tracing && { interceptors: { activity: [traceActivities(tracing)] } }),
    maxConcurrentActivityTaskExecutions: attemptsAtOnce,
    maxHeartbeatThrottleInterval: '2 seconds',
    shutdownGraceTime: '10 seconds',
    shutdownForceTime: '30 seconds',
  });
  const done = worker.run();
  const dispatcher = new Dispatcher(services);
  services.deliveries.onWake(() => dispatcher.wake());
  dispatcher.start();
  return {
    failed: done,
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.all([done, dispatcher.stop()]);
    },
  };
}
