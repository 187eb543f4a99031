import { queues } from '../src/temporal/contracts/queues.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { startUpgradingWorker } from './upgrading-worker.ts';
import type { WorkflowSlots } from './workflow-worker.ts';

/** Workflows of bookings wait until the booking is over. Activities wait for calendars and mail servers. */
const slots: WorkflowSlots = { activities: 100, tasks: 20, cached: 200, polls: 4 };

/** Sends the mails of bookings, and keeps calendars in step. */
export const startCalendarsWorker = (context: RoleContext): Promise<RunningRole> =>
  startUpgradingWorker(context, queues.calendars, slots);
