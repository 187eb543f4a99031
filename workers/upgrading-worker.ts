import type { Queue } from '../src/temporal/contracts/queues.ts';
import { prepareBundle } from './bundle.ts';
import { announcePromotion, followCurrentVersion } from './current-version.ts';
import { promoteVersion } from './deployment.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { startWorkflowWorker, type WorkflowSlots } from './workflow-worker.ts';

/**
 * Serves a queue whose workflows all go on with the code of a new version, so that earlier ones need no worker.
 * @param deployment its name, with the prefix of the installation
 * @param eagerOn the queue, where workflows that this process starts may begin in it at once
 */
export async function startUpgradingWorker(
  context: RoleContext,
  deployment: string,
  slots: WorkflowSlots,
  eagerOn?: Queue,
): Promise<Required<Omit<RunningRole, 'port'>>> {
  const { env, log, temporal } = context.services;
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR);
  const version = { deploymentName: deployment, buildId: bundle.version };
  const worker = await startWorkflowWorker(context, context.connection, bundle, version, slots);
  if (env.WORKER_AUTO_PROMOTE) {
    await promoteVersion(temporal.client, version, log);
    if (eagerOn) await announcePromotion(context.services, version);
  }
  const stopping = new AbortController();
  const following = eagerOn && followCurrentVersion(context.services, eagerOn, version, stopping.signal);
  return {
    failed: worker.done,
    async stop() {
      stopping.abort();
      worker.shutdown();
      await Promise.all([worker.done, following]);
    },
  };
}
