import { NativeConnection } from '@temporalio/worker';
import { queues } from '../src/temporal/contracts/queues.ts';
import { temporalEndpoint } from '../src/temporal/endpoint.ts';
import { type Bundle, earlierBundles, prepareBundle } from './bundle.ts';
import { announcePromotion, followCurrentVersion } from './current-version.ts';
import { countOpen, deploymentOf, promoteVersion } from './deployment.ts';
import { serveEarlierVersion } from './earlier-versions.ts';
import { allEnded, type RoleContext, type RunningRole } from './running-role.ts';
import { type StartedWorker, startWorkflowWorker, type WorkflowSlots } from './workflow-worker.ts';

const slots: WorkflowSlots = {
  /** Calls mostly wait. Plans bound how many of them one organization has at the same time. */
  activities: 500,
  /** At least the concurrent starts plus the pollers: an eager start that finds no slot is dispatched later than others. */
  tasks: 100,
  /**
   * Runs that stay in memory between two tasks, most of which wait: about a tenth of a megabyte each. Others are
   * replayed when they continue, which takes a few milliseconds.
   */
  cached: 200,
};

/** Executes runs, with the workflow code of every feature but webhooks, and finishes what earlier versions began. */
export async function startRunsWorker(context: RoleContext): Promise<RunningRole> {
  const { services, connection, processStopping } = context;
  const { env, log, temporal } = services;
  const stopping = new AbortController();
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR, undefined, processStopping);
  const version = ({ version: buildId }: Bundle) => ({
    deploymentName: deploymentOf(env.TEMPORAL_TASK_QUEUE_PREFIX, queues.runs),
    buildId,
  });
  const startWorker = (of: Bundle, on: NativeConnection) => startWorkflowWorker(context, on, of, version(of), slots);

  const current = await startWorker(bundle, connection);

  /** On a separate connection, because an eager start takes any worker on its connection, whatever its version. */
  const startEarlierWorker = async (of: Bundle): Promise<StartedWorker> => {
    const apart = await NativeConnection.connect(temporalEndpoint(env));
    try {
      const { done, shutdown } = await startWorker(of, apart);
      return { shutdown, done: done.finally(() => apart.close()) };
    } catch (error) {
      await apart.close();
      throw error;
    }
  };

  if (env.WORKER_AUTO_PROMOTE) {
    await promoteVersion(temporal.client, version(bundle), { log, stopping: processStopping });
    await announcePromotion(services, version(bundle));
  }
  const earlier = await earlierBundles(env.WORKFLOW_BUNDLE_DIR, bundle.version);
  const background = [
    services.activeRuns.keepTending(services.database, log, stopping.signal),
    services.eventMatcher.keepDeciding(services, stopping.signal),
    followCurrentVersion(services, queues.runs, version(bundle), stopping.signal),
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
      // Runs are handed back between two steps.
      services.draining.abort();
      current.shutdown();
      await allEnded([current.done, ...background]);
    },
  };
}
