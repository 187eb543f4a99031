import { setTimeout as sleep } from 'node:timers/promises';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { Services } from '../src/services.ts';
import { taskQueueName } from '../src/temporal/client.ts';
import { type Bundle, earlierBundles, prepareBundle, removeBundle } from './bundle.ts';
import { countOpen, deploymentName, promoteVersion } from './deployment.ts';
import type { RunningRole } from './running-role.ts';

/** At least the starts that arrive together plus the pollers: an eager start that finds no slot is overtaken. */
const workflowTaskSlots = 100;
const cachedWorkflows = 500;
const drainEveryMs = 2_000;
const lookForOpenRunsEveryMs = 30_000;

/** Runs steps of runs, drains the outbox, and finishes what earlier versions of the workflow code began. */
export async function startRunsWorker(services: Services, connection: NativeConnection): Promise<RunningRole> {
  const { env, log, temporal } = services;
  const stopping = new AbortController();
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR);
  const version = ({ version: buildId }: Bundle) => ({
    deploymentName: deploymentName(env.TEMPORAL_TASK_QUEUE_PREFIX),
    buildId,
  });
  const activities = createActivities(services);
  const startWorker = async (of: Bundle) => {
    const worker = await Worker.create({
      connection,
      namespace: env.TEMPORAL_NAMESPACE,
      taskQueue: taskQueueName(env.TEMPORAL_TASK_QUEUE_PREFIX, 'runs'),
      workflowBundle: { codePath: of.path },
      activities,
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
    return { worker, done: worker.run() };
  };

  const current = await startWorker(bundle);
  const pollers = [current];

  /** Runs are pinned to the code they began with, so a version with open runs keeps a worker until they are over. */
  const serveEarlierVersion = async (earlier: Bundle) => {
    if ((await countOpen(temporal.client, version(earlier))) > 0) {
      log.info({ version: earlier.version }, 'finishing runs of an earlier version');
      const old = await startWorker(earlier);
      pollers.push(old);
      while ((await countOpen(temporal.client, version(earlier))) > 0) {
        await sleep(lookForOpenRunsEveryMs, undefined, { signal: stopping.signal });
      }
      old.worker.shutdown();
      await old.done;
    }
    await removeBundle(earlier);
  };

  const drainRepeatedly = async () => {
    while (!stopping.signal.aborted) {
      await services.drain().then(
        ({ drained, failed }) => {
          if (drained > 0) log.info({ drained }, 'outbox drained');
          for (const { error, ...entry } of failed) log.warn({ err: error, ...entry }, 'an outbox entry waits');
        },
        (error) => log.warn({ err: error }, 'the outbox could not be drained'),
      );
      await sleep(drainEveryMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };

  if (env.WORKER_AUTO_PROMOTE) await promoteVersion(temporal.client, version(bundle), log);
  const earlier = await earlierBundles(env.WORKFLOW_BUNDLE_DIR, bundle.version);
  const background = [
    drainRepeatedly(),
    ...earlier.map((one) =>
      serveEarlierVersion(one).catch((error) => {
        if (!stopping.signal.aborted)
          log.error({ err: error, version: one.version }, 'an earlier version is not served');
      }),
    ),
  ];

  return {
    failed: current.done,
    async stop() {
      stopping.abort();
      for (const { worker } of pollers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.all([...pollers.map(({ done }) => done), ...background]);
    },
  };
}
