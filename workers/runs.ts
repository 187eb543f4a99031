import { NativeConnection, Worker } from '@temporalio/worker';
import { type Bundle, earlierBundles, prepareBundle } from './bundle.ts';
import { announcePromotion, followCurrentVersion } from './current-version.ts';
import { countOpen, deploymentName, promoteVersion } from './deployment.ts';
import { type StartedWorker, serveEarlierVersion } from './earlier-versions.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { traceActivities, traceSinks } from './trace-work.ts';

/** At least the concurrent starts plus the pollers: an eager start that finds no slot is dispatched later than others. */
const workflowTaskSlots = 100;
const cachedWorkflows = 500;

/** Runs the workflow code of every feature and the steps of runs, and finishes what earlier versions began. */
export async function startRunsWorker({ services, connection, queue, activities }: RoleContext): Promise<RunningRole> {
  const { env, log, temporal, tracing } = services;
  const stopping = new AbortController();
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR);
  const version = ({ version: buildId }: Bundle) => ({
    deploymentName: deploymentName(env.TEMPORAL_TASK_QUEUE_PREFIX),
    buildId,
  });
  const startWorker = async (of: Bundle, on: NativeConnection): Promise<StartedWorker> => {
    const worker = await Worker.create({
      connection: on,
      namespace: env.TEMPORAL_NAMESPACE,
      taskQueue: queue,
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

  /** On a separate connection, because an eager start takes any worker on its connection, whatever its version. */
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

  if (env.WORKER_AUTO_PROMOTE) {
    await promoteVersion(temporal.client, version(bundle), log);
    await announcePromotion(services, version(bundle));
  }
  const earlier = await earlierBundles(env.WORKFLOW_BUNDLE_DIR, bundle.version);
  const background = [
    followCurrentVersion(services, version(bundle), stopping.signal),
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
