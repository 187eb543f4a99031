import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { automationWorkflows, type BulkActionArgs, bulkActionWorkflowId } from '../../temporal/contracts/automation.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { watchEachStopped } from '../../temporal/stopped-workflows.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import { type BulkActionType, openBulkAction } from '../core/bulk-actions.ts';
import { bulkActionIds } from '../core/ids.ts';
import { failPoint } from '../fail-points.ts';
import { abortRow } from './bulk-actions.ts';

/** Asks the workflow of a bulk action to stop. Harmless when it is over or was never started. */
export const cancelBulkActionWorkflow = (temporal: TemporalClient, id: string): Promise<void> =>
  temporal.cancel(bulkActionWorkflowId(id));

const findPending = statement({
  name: 'bulk_action.pending_start',
  parameters: { id: 'uuid' },
  row: { action: typed<BulkActionType>('text'), total: 'int', plan: typed<PlanName>('text') },
  text: `select b.action, b.total, o.plan from bulk_action b join organization o on o.id = b.organization_id
    where b.organization_id = :organizationId and b.environment = :environment and b.id = :id
      and b.status in (${openBulkAction})`,
});

/** Starts the workflow of a bulk action that has not ended. Harmless when it is started already. */
export async function startBulkAction(
  { temporal }: { temporal: TemporalClient },
  scope: Scope,
  id: string,
): Promise<void> {
  const pending = await scope.one(findPending, { id });
  if (!pending) return;
  const { action, total, plan } = pending;
  const args: BulkActionArgs = { ...scope.tenant, correlationId: scope.correlationId, bulkActionId: id };
  await temporal.start({
    type: automationWorkflows.performBulkAction,
    workflowId: bulkActionWorkflowId(id),
    queue: queues.runs,
    priority: priorities.background,
    args,
    resourceId: id,
    summary: `${bulkActionIds.format(id)}: ${action} ${total} runs`,
    fairness: fairnessOf(scope.tenant, plan),
    once: true,
  });
  failPoint('bulk.started');
}

const hasOpen = systemStatement({
  name: 'bulk_action.any_open',
  row: { found: 'boolean' },
  text: 'select exists (select from bulk_action where completed_at is null) as found',
});

const findOpen = systemStatement({
  name: 'bulk_action.find_open',
  parameters: { ids: 'uuid[]' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Tenant['environment']>('text'),
    correlationId: 'text',
  },
  text: `select id, organization_id as "organizationId", environment, correlation_id as "correlationId" from bulk_action
    where id = any(:ids) and status in (${openBulkAction})`,
});

/** Aborts the bulk actions whose workflows an operator terminated. @returns a function that says how many */
export const watchStoppedBulkActions = (services: {
  database: Database;
  temporal: TemporalClient;
  log: Log;
}): (() => Promise<number>) =>
  watchEachStopped(services, {
    queue: queues.runs,
    type: automationWorkflows.performBulkAction,
    workflowId: bulkActionWorkflowId,
    hasOpen,
    findOpen,
    end: ({ id, correlationId, ...tenant }) => abortRow(new Scope(services.database, tenant, correlationId), id),
  });
