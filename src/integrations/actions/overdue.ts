import type { Database } from '../../platform/database.ts';
import type { Log } from '../../platform/log.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { actionWorkflowId, integrationWorkflows } from '../../temporal/contracts/integrations.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import {
  endOverdueRows,
  forgetting,
  type OpenRow,
  openRows,
  overdueRows,
  scopeOfRow,
} from '../../temporal/open-rows.ts';
import { watchEachStopped } from '../../temporal/stopped-workflows.ts';
import { actionStates } from '../core/action-status.ts';
import { breakOffAction, type EndServices } from './end-action.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 60_000;

const isOpen = `status in (${actionStates.sql('scheduled', 'processing')})`;
// A delay may be as long as what ended is kept, so that time is counted from the end.
const actions = { name: 'action', table: 'integration_action', isOpen, keptFrom: 'finished_at' } as const;
const overdueActions = overdueRows(actions, 'due_at');
const openActions = openRows(actions);

type WatchServices = EndServices & { database: Database; log: Log };

const end = (services: WatchServices, row: OpenRow, status: 'failed' | 'cancelled') =>
  breakOffAction(services, scopeOfRow(services.database, row), { actionId: row.id, waiter: null }, status);

/**
 * Ends actions that nobody works on any more, whatever became of their workflow. Across all tenants.
 * @returns how many
 */
export const endOverdueActions = (services: WatchServices, deadlineMs: number, limit: number): Promise<number> =>
  endOverdueRows(services, overdueActions, [deadlineMs + graceMs, limit], (row) => end(services, row, 'failed'));

/** Ends the actions whose workflows an operator terminated, or that timed out. */
export const watchStoppedActions = (services: WatchServices & { temporal: TemporalClient }): (() => Promise<number>) =>
  watchEachStopped(services, {
    queue: queues.integrations,
    type: integrationWorkflows.performAction,
    workflowId: actionWorkflowId,
    ...openActions,
    end: (row) => end(services, row, 'cancelled'),
  });

/** Removes actions a day after their end, of all tenants. @returns how many; as many as `limit`: there may be more */
export const forgetActions = forgetting(actions);
