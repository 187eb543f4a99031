import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { GoesOn } from '../platform/outbox/outbox.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/index.ts';
import { jobWorkflowId } from './core/names.ts';
import type { JobDeclaration, JobTypes } from './declaration.ts';
import type { JobFailPoint } from './fail-points.ts';

export function jobStart<Of extends JobTypes>(
  { contract, table, isOpen, policy, start }: JobDeclaration<Of>,
  failPoint: JobFailPoint,
) {
  const { name, queue, workflow } = contract;
  const { columns, isPending = isOpen, options } = start;
  const findPending = statement({
    name: `${name}.pending_start`,
    parameters: { id: 'uuid' },
    row: { ...start.row, organization_id: 'uuid', plan: typed<PlanName>('text') },
    text: `select job.*, o.plan
       from (select organization_id${columns === undefined ? '' : `, ${columns}`} from ${table}
              where organization_id = :organizationId and environment = :environment and id = :id and ${isPending}) job
       join organization o on o.id = job.organization_id`,
  });
  return {
    /**
     * Starts the workflow of a job, unless it is over. Harmless when repeated.
     * @param hint given right after the commit
     * @returns while the job keeps the process busy
     */
    async start(
      services: Of['services'] & { temporal: TemporalClient },
      scope: Scope,
      id: string,
      hint?: Of['hint'],
    ): Promise<GoesOn | undefined> {
      const pending = await scope.one(findPending, { id });
      if (!pending) return undefined;
      const { tenant, correlationId } = scope;
      const { args, waitsFirst, ...shown } = options(pending as Of['row'], hint);
      // Listens first: the job may be over before Temporal has answered.
      const busy = start.busyUntil?.(services, scope, id);
      const workflowId = jobWorkflowId(contract, id);
      const isNew = await services.temporal.startUnlessStarted({
        type: workflow,
        workflowId,
        queue,
        ...shown,
        args: { ...tenant, correlationId, id, waiter: hint?.waiter ?? null, policy: policy(services), ...args },
        resourceId: id,
        fairness: fairnessOf(tenant, pending.plan),
        once: true,
      });
      failPoint('started');
      // Where it was cancelled meanwhile, Temporal had no workflow to cancel, and this one would wait for its time.
      if (waitsFirst && !(await scope.one(findPending, { id }))) await services.temporal.cancel(workflowId);
      return busy && isNew ? new GoesOn(busy) : undefined;
    },
  };
}
