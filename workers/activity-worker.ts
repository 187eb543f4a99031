import { Worker } from '@temporalio/worker';
import type { RoleContext, RunningRole } from './running-role.ts';
import { traceActivities } from './trace-work.ts';

/**
 * Serves the activities of a queue. They belong to no worker version: workflows of many versions call them.
 * @param maxConcurrent how many activities may run at the same time
 */
export async function startActivityWorker(
  context: RoleContext,
  maxConcurrent: number,
): Promise<Required<Omit<RunningRole, 'port'>>> {
  const { services, connection, queue, activities, onPolling } = context;
  const { env, tracing } = services;
  const worker = await Worker.create({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: queue,
    activities,
    ...(tracing && { interceptors: { activity: [traceActivities(tracing)] } }),
    maxConcurrentActivityTaskExecutions: maxConcurrent,
    maxHeartbeatThrottleInterval: '2 seconds',
    shutdownGraceTime: '10 seconds',
    shutdownForceTime: '30 seconds',
  });
  const done = worker.run();
  // It may fail while its role still starts, before anything awaits it.
  done.catch(() => {});
  const stop = async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await done;
  };
  onPolling(stop);
  return { failed: done, stop };
}
