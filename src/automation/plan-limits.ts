import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { automationLimits } from './core/limits.ts';

type Counted = 'workflows' | 'schedules';

interface Standing {
  plan: PlanName;
  count: number;
}

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

function enforcePlanLimit(counted: Counted, { plan, count }: Standing): void {
  const limit = automationLimits[counted].of(plan);
  if (count < limit) return;
  const message = `The plan ${plan} includes ${limit.toLocaleString('en-US')} ${counted}.`;
  throw new AppError('forbidden', message, { limit, plan });
}

/** Transactions of a tenant that add a workflow, or a tool, run one after another. */
export const lockWorkflows = (tx: Transaction): Promise<void> => lockForTransaction(tx, 'workflows');

/** Whether the plan includes one more workflow. Takes the lock of `lockWorkflows`. @throws AppError forbidden */
export async function enforceWorkflowLimit(tx: Transaction): Promise<void> {
  await lockWorkflows(tx);
  enforcePlanLimit('workflows', (await tx.one(countWorkflows))!);
}

/** The same for the schedule of a workflow. One that it has can always be replaced. @throws AppError forbidden */
export async function enforceScheduleLimit(tx: Transaction, automationId: string): Promise<void> {
  await lockForTransaction(tx, 'schedules');
  const { exists, ...standing } = (await tx.one(countSchedules, { automationId }))!;
  if (!exists) enforcePlanLimit('schedules', standing);
}
