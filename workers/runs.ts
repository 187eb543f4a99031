import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { Services } from '../src/services.ts';
import { queues, taskQueueName } from '../src/temporal/contracts/queues.ts';
import { type Bundle, earlierBundles, prepareBundle } from './bundle.ts';
import { countOpen, deploymentName, promoteVersion } from './deployment.ts';
import { type StartedWorker, serveEarlierVersion } from './earlier-versions.ts';
import type { RunningRole } from './running-role.ts';
import { ensureSchedules } from './schedules.ts';
import { traceActivities, traceSinks } from './trace-work.ts';

/** At least the starts that arrive together plus the pollers: an eager start that finds no slot is overtaken. */
const workflowTaskSlots = 100;
const cachedWorkflows = 500;
const drainEveryMs = 2_000;
const sweepEveryMs = 60_000;

/** Runs steps of runs, drains the outbox, and finishes what earlier versions of the workflow code began. */
export async function startRunsWorker(services: Services, connection: NativeConnection): Promise<RunningRole> {
  const { env, log, temporal, tracing } = services;
  const stopping = new AbortController();
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR);
  const version = ({ version: buildId }: Bundle) => ({
    deploymentName: deploymentName(env.TEMPORAL_TASK_QUEUE_PREFIX),
    buildId,
  });
  const activities = createActivities(services);
  const startWorker = async (of: Bundle, on: NativeConnection): Promise<StartedWorker> => {
    const worker = await Worker.create({
      connection: on,
      namespace: env.TEMPORAL_NAMESPACE,
      taskQueue: taskQueueName(env.TEMPORAL_TASK_QUEUE_PREFIX, queues.runs),
      workflowBundle: { codePath: of.path },
      activities,
      sinks: traceSinks(tracing),
      ...(tracing && { interceptors: { activity: [traceActivities(tracing)] } }),
      maxConcurrentWorkflowTaskExecutions: workflowTaskSlots,
      maxCachedWorkflows: cachedWorkflows,
      maxHeartbeatThrottleInterval: '1 second',
      shutdownGraceTime: '10 seconds',
      shutdownForceTime: '30 seconds',
      workerDeploymentOptions: {
        version: version(of),
        useWorkerVersioning: true,
        defaultVersioningBehavior: 'PINNED',
      },
    });
    return {
      done: worker.run(),
      shutdown() {
        if (worker.getState() === 'RUNNING') worker.shutdown();
      },
    };
  };

  const current = await startWorker(bundle, connection);

  /** On a connection of its own: an eager start takes any worker of its connection, whatever that worker's version. */
  const startEarlierWorker = async (of: Bundle): Promise<StartedWorker> => {
    const apart = await NativeConnection.connect({ address: env.TEMPORAL_ADDRESS });
    try {
      const { done, shutdown } = await startWorker(of, apart);
      return { shutdown, done: done.finally(() => apart.close()) };
    } catch (error) {
      await apart.close();
      throw error;
    }
  };

  // A drain is not waited for by the next: a kind that hangs delays itself alone.
  const drainRepeatedly = async () => {
    const drainOnce = async () => {
      const { drained } = await services.drain();
      if (drained > 0) log.info({ drained }, 'outbox drained');
    };
    while (!stopping.signal.aborted) {
      services.background.run('drain of the outbox', drainOnce());
      await sleep(drainEveryMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  const sweepRepeatedly = async () => {
    while (!stopping.signal.aborted) {
      await services.sweep().catch((error) => log.warn({ err: error }, 'what is over could not be swept'));
      await sleep(sweepEveryMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  if (env.WORKER_AUTO_PROMOTE) await promoteVersion(temporal.client, version(bundle), log);
  temporal.allowEagerStarts(true);
  await ensureSchedules(temporal.client, env.TEMPORAL_TASK_QUEUE_PREFIX);
  const earlier = await earlierBundles(env.WORKFLOW_BUNDLE_DIR, bundle.version);
  const background = [
    drainRepeatedly(),
    sweepRepeatedly(),
    ...earlier.map((one) =>
      serveEarlierVersion(one, {
        countOpen: () => countOpen(temporal.client, version(one)),
        startWorker: () => startEarlierWorker(one),
        log,
        stopping: stopping.signal,
      }),
    ),
  ];

  return {
    failed: current.done,
    async stop() {
      stopping.abort();
      current.shutdown();
      await Promise.all([current.done, ...background]);
    },
  };
}
