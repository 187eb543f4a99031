import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { bulkActionWorkflowId } from '../../temporal/contracts/automation.ts';
import { abortRow } from './bulk-actions.ts';
import { startBulkAction } from './bulk-workflows.ts';

interface ReconcilePolicy {
  /** Temporal is asked about bulk actions that are older. */
  minAgeMs: number;
  /** Temporal keeps what has ended for longer: a younger bulk action that it does not know was lost, not stopped. */
  maxLostAgeMs: number;
  /** Bulk actions per call. */
  batch: number;
}

const defaultReconcilePolicy: ReconcilePolicy = { minAgeMs: 300_000, maxLostAgeMs: 86_400_000, batch: 100 };

const nil = '00000000-0000-0000-0000-000000000000';
const beginning = { organizationId: nil, environment: '', id: nil };

// In the order of the index of open ones. Those whose start is still in the outbox are left to it.
const findOpenAfter = systemStatement({
  name: 'bulk_action.open_after',
  parameters: {
    afterOrganization: 'uuid',
    afterEnvironment: 'text',
    afterId: 'uuid',
    minAgeMs: 'float8',
    maxLostAgeMs: 'float8',
    limit: 'int',
  },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    correlationId: 'text',
    mayStart: 'boolean',
  },
  text: `select id, organization_id as "organizationId", environment, correlation_id as "correlationId",
          created_at > atelier_now() - make_interval(secs => :maxLostAgeMs / 1000) as "mayStart"
     from bulk_action b
    where completed_at is null and (organization_id, environment, id) > (:afterOrganization, :afterEnvironment, :afterId)
      and created_at <= atelier_now() - make_interval(secs => :minAgeMs / 1000)
      and not exists (select from outbox where kind = 'bulk_action.start' and subject_id = b.id)
    order by organization_id, environment, id limit :limit`,
});

/**
 * Returns a function that looks after open bulk actions whose Temporal workflow is not open, across all tenants. One that
 * Temporal lost is started again, because its results are recorded with its progress: no run is cancelled or retried
 * twice. The others are aborted: their workflows were terminated or cancelled by an operator, or ended without a record.
 * Each call looks at the next ones, so that many that rightly take long keep none from being looked at.
 * @returns a function that says how many were started again or aborted
 */
export function reconcileBulkActions(
  { database, temporal, log }: { database: Database; temporal: TemporalClient; log: Log },
  { minAgeMs, maxLostAgeMs, batch }: ReconcilePolicy = defaultReconcilePolicy,
): () => Promise<number> {
  let after: { organizationId: string; environment: string; id: string } = beginning;
  return async () => {
    const rows = await sqlOn(database.pool).rows(findOpenAfter, {
      afterOrganization: after.organizationId,
      afterEnvironment: after.environment,
      afterId: after.id,
      minAgeMs,
      maxLostAgeMs,
      limit: batch,
    });
    let changed = 0;
    for (const row of rows) {
      const { id, correlationId, mayStart, ...tenant } = row;
      const state = await temporal.state(bulkActionWorkflowId(id));
      // Moves on before the change: one that fails is left to the next round.
      after = row;
      if (state === 'open') continue;
      const scope = new Scope(database, tenant, correlationId);
      const facts = { bulkActionId: id, state, ...tenant };
      if (state === 'missing' && mayStart) {
        await startBulkAction({ temporal }, scope, id);
        log.warn(facts, 'started a bulk action again that Temporal had lost');
      } else {
        if (!(await abortRow(scope, id))) continue;
        log.warn(facts, 'aborted a bulk action whose Temporal workflow is closed');
      }
      changed++;
    }
    if (rows.length < batch) after = beginning;
    return changed;
  };
}
