import type { Queue } from '../src/temporal/contracts/queues.ts';
import { prepareBundle } from './bundle.ts';
import { announcePromotion, followCurrentVersion } from './current-version.ts';
import { deploymentOf, promoteVersion } from './deployment.ts';
import { allEnded, type RoleContext, type RunningRole } from './running-role.ts';
import { startWorkflowWorker, type WorkflowSlots } from './workflow-worker.ts';

/**
 * Serves a queue whose workflows all continue with the code of a new version, so that earlier ones need no worker.
 * @param startsEagerly whether workflows that this process starts may begin in it at once
 */
export async function startUpgradingWorker(
  context: RoleContext,
  queue: Queue,
  slots: WorkflowSlots,
  startsEagerly = false,
): Promise<Required<Omit<RunningRole, 'port'>>> {
  const { services, connection, processStopping } = context;
  const { env, log, temporal } = services;
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR, undefined, processStopping);
  const version = { deploymentName: deploymentOf(env.TEMPORAL_TASK_QUEUE_PREFIX, queue), buildId: bundle.version };
  const worker = await startWorkflowWorker(context, connection, bundle, version, slots);
  if (env.WORKER_AUTO_PROMOTE) {
    await promoteVersion(temporal.client, version, { log, stopping: processStopping });
    if (startsEagerly) await announcePromotion(services, version);
  }
  const stopping = new AbortController();
  const following = startsEagerly ? followCurrentVersion(services, queue, version, stopping.signal) : undefined;
  return {
    failed: worker.done,
    async stop() {
      stopping.abort();
      worker.shutdown();
      await allEnded([worker.done, following]);
    },
  };
}
