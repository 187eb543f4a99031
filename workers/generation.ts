import { generationDeploymentName } from './deployment.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { startUpgradingWorker } from './upgrading-worker.ts';
import type { WorkflowSlots } from './workflow-worker.ts';

/** Activities ask providers and store files; the pool of renderings bounds what is computed at the same time. */
const slots: WorkflowSlots = { activities: 100, tasks: 20, cached: 200, polls: 4 };

/** Makes what is asked of Studio. */
export const startGenerationWorker = (context: RoleContext): Promise<RunningRole> =>
  startUpgradingWorker(context, generationDeploymentName(context.services.env.TEMPORAL_TASK_QUEUE_PREFIX), slots);
