import type { Database } from '../../platform/database.ts';
import { Scope } from '../../platform/scope.ts';
import { sqlOn, statement } from '../../platform/sql.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { actionWorkflowId, integrationWorkflows } from '../../temporal/contracts/integrations.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { watchEachStopped } from '../../temporal/stopped-workflows.ts';
import { actionStates } from '../core/action-status.ts';
import { breakOffAction, type EndServices } from './end-action.ts';

/** Time for a workflow to record the end by itself. */
const graceMs = 60_000;

interface Overdue extends Tenant {
  id: string;
  correlationId: string;
}

const columns = `id, organization_id as "organizationId", environment, correlation_id as "correlationId"`;
const isOpen = `status in (${actionStates.sql('scheduled', 'processing')})`;

const findOverdue = statement<Overdue>(
  'action.overdue',
  `select ${columns} from integration_action
    where ${isOpen} and due_at < clock_timestamp() - make_interval(secs => $1::float8 / 1000)
    order by due_at limit $2`,
);

const hasOpen = statement<{ found: boolean }>(
  'action.any_open',
  `select exists (select from integration_action where ${isOpen}) as found`,
);

const findOpen = statement<Overdue>(
  'action.find_open',
  `select ${columns} from integration_action where id = any($1::uuid[]) and ${isOpen}`,
);

const forget = statement<{ count: number }>(
  'action.forget',
  `with old as (
     delete from integration_action where ctid = any(array(
       select ctid from integration_action
        where created_at <= clock_timestamp() - make_interval(hours => $1) and not ${isOpen}
        order by created_at limit $2))
     returning 1)
   select count(*)::int as count from old`,
);

type WatchServices = EndServices & { database: Database };

const end = (services: WatchServices, { id, correlationId, ...tenant }: Overdue, status: 'failed' | 'cancelled') =>
  breakOffAction(services, new Scope(services.database, tenant, correlationId), { actionId: id, waiter: null }, status);

/**
 * Ends actions that nobody works on any more, whatever became of their workflow. Across all tenants.
 * @returns how many
 */
export async function endOverdueActions(services: WatchServices, deadlineMs: number, limit: number): Promise<number> {
  const overdue = await sqlOn(services.database.pool).rows(findOverdue, [deadlineMs + graceMs, limit]);
  for (const action of overdue) await end(services, action, 'failed');
  return overdue.length;
}

/** Ends the actions whose workflows an operator terminated, or that timed out. */
export const watchStoppedActions = (services: WatchServices & { temporal: TemporalClient }): (() => Promise<number>) =>
  watchEachStopped(services, {
    ...{ queue: queues.integrations, type: integrationWorkflows.performAction, workflowId: actionWorkflowId },
    ...{ hasOpen, findOpen },
    end: (one) => end(services, one, 'cancelled'),
  });

/** As long as an Idempotency-Key is kept, which is taken with its action and so is forgotten first. */
const keptHours = 24;

/** Removes the actions of the day before, of all tenants. @returns how many; as many as `limit`: there may be more */
export async function forgetActions(database: Database, limit: number): Promise<number> {
  return (await sqlOn(database.pool).one(forget, [keptHours, limit]))!.count;
}
