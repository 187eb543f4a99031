import { prepareBundle } from './bundle.ts';
import { generationDeploymentName, promoteVersion } from './deployment.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { startWorkflowWorker, type WorkflowSlots } from './workflow-worker.ts';

/** Activities ask providers and store files; the pool of renderings bounds what is computed at the same time. */
const slots: WorkflowSlots = { activities: 100, tasks: 20, cached: 200, polls: 4 };

/** Makes what is asked of Studio. All of its workflows go on with the code of a new version, so earlier ones need no worker. */
export async function startGenerationWorker(context: RoleContext): Promise<RunningRole> {
  const { env, log, temporal } = context.services;
  const bundle = await prepareBundle(env.WORKFLOW_BUNDLE_DIR);
  const version = { deploymentName: generationDeploymentName(env.TEMPORAL_TASK_QUEUE_PREFIX), buildId: bundle.version };
  const worker = await startWorkflowWorker(context, context.connection, bundle, version, slots);
  if (env.WORKER_AUTO_PROMOTE) await promoteVersion(temporal.client, version, log);
  return {
    failed: worker.done,
    async stop() {
      worker.shutdown();
      await worker.done;
    },
  };
}
