import { type NativeConnection, Worker } from '@temporalio/worker';
import type { Bundle } from './bundle.ts';
import type { VersionRef } from './deployment.ts';
import { workLogSinks } from './log-work.ts';
import type { RoleContext } from './running-role.ts';
import { traceActivities, traceSinks } from './trace-work.ts';

/** A worker that polls. */
export interface StartedWorker {
  /** Settles when the worker has ended, for any reason. */
  done: Promise<void>;
  /** Stops polling; tasks that are under way may end. */
  shutdown(): void;
}

export interface WorkflowSlots {
  /** Workflow tasks at the same time. */
  tasks: number;
  /** Workflows that are kept in memory between their tasks. */
  cached: number;
  /** Open requests for workflow tasks; the SDK's default unless given. */
  polls?: number;
  /**
   * Maximum activities at the same time. Without it the worker runs only local ones: another worker serves the others.
   */
  activities?: number;
}

/** Serves the workflow code of a queue, as one version of a deployment. */
export async function startWorkflowWorker(
  { services, queue, activities, onPolling }: RoleContext,
  connection: NativeConnection,
  bundle: Bundle,
  version: VersionRef,
  slots: WorkflowSlots,
): Promise<StartedWorker> {
  const { env, log, tracing } = services;
  const worker = await Worker.create({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: queue,
    workflowBundle: { codePath: bundle.path },
    sinks: { ...traceSinks(tracing), ...workLogSinks(log) },
    ...(tracing && { interceptors: { activity: [traceActivities(tracing)] } }),
    activities,
    ...(slots.activities
      ? { maxConcurrentActivityTaskExecutions: slots.activities }
      : { enableNonLocalActivities: false }),
    ...(slots.polls && { maxConcurrentWorkflowTaskPolls: slots.polls }),
    maxConcurrentWorkflowTaskExecutions: slots.tasks,
    maxCachedWorkflows: slots.cached,
    // Each is a write of Temporal's, for every call that is open.
    maxHeartbeatThrottleInterval: '3 seconds',
    shutdownGraceTime: '10 seconds',
    shutdownForceTime: '30 seconds',
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' },
  });
  const done = worker.run();
  // It may fail while its role still starts, before anything awaits it.
  done.catch(() => {});
  const shutdown = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  onPolling(async () => {
    shutdown();
    await done;
  });
  return { done, shutdown };
}
