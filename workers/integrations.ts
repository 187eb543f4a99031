import { queues } from '../src/temporal/contracts/queues.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { startUpgradingWorker } from './upgrading-worker.ts';
import type { WorkflowSlots } from './workflow-worker.ts';

/**
 * Activities wait for providers. There are more places than actions that any plan may have under way, so that one
 * organization does not hold all of them.
 */
const slots: WorkflowSlots = { activities: 300, tasks: 50, cached: 200, polls: 4 };

/** Performs the actions of integrations. */
export const startIntegrationsWorker = (context: RoleContext): Promise<RunningRole> =>
  startUpgradingWorker(context, queues.integrations, slots, true);
