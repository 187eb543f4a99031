import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { enforceLimit } from '../tenancy/index.ts';
import { automationLimits } from './core/limits.ts';

const countWorkflows = statement({
  name: 'plan_room.workflows',
  row: { plan: typed<PlanName>('text'), count: 'int' },
  text: `select o.plan, (select count(*)::int from automation
                    where organization_id = :organizationId and environment = :environment and deleted_at is null) as count
     from organization o where o.id = :organizationId`,
});

const liveSchedules = `automation_schedule s join automation a on a.id = s.automation_id and a.deleted_at is null
  where s.organization_id = :organizationId and s.environment = :environment`;

const countSchedules = statement({
  name: 'plan_room.schedules',
  parameters: { automationId: 'uuid' },
  row: { plan: typed<PlanName>('text'), count: 'int', exists: 'boolean' },
  text: `select o.plan, (select count(*)::int from ${liveSchedules}) as count,
          exists (select from ${liveSchedules} and s.automation_id = :automationId) as exists
     from organization o where o.id = :organizationId`,
});

/** Transactions of a tenant that add a workflow, or a tool, run one after another. */
export const lockWorkflows = (tx: Transaction): Promise<void> => lockForTransaction(tx, 'workflows');

/** Whether the plan includes one more workflow. Takes the lock of `lockWorkflows`. @throws AppError forbidden */
export async function enforceWorkflowLimit(tx: Transaction): Promise<void> {
  await lockWorkflows(tx);
  enforceLimit(automationLimits.workflows, (await tx.one(countWorkflows))!, 'workflows');
}

/** The same for the schedule of a workflow. An existing schedule can always be replaced. @throws AppError forbidden */
export async function enforceScheduleLimit(tx: Transaction, automationId: string): Promise<void> {
  await lockForTransaction(tx, 'schedules');
  const { exists, ...use } = (await tx.one(countSchedules, { automationId }))!;
  if (!exists) enforceLimit(automationLimits.schedules, use, 'schedules');
}
