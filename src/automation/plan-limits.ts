import { AppError } from '../platform/errors.ts';
import type { Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { lockForTransaction } from '../platform/tenant-locks.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { automationLimits } from './core/limits.ts';

type Counted = 'workflows' | 'schedules';

interface Standing {
  plan: PlanName;
  count: number;
}

const countWorkflows = statement<Standing>(
  'plan_room.workflows',
  `select o.plan, (select count(*)::int from automation
                    where organization_id = $1 and environment = $2 and deleted_at is null) as count
     from organization o where o.id = $1`,
);

const liveSchedules = `automation_schedule s join automation a on a.id = s.automation_id and a.deleted_at is null
  where s.organization_id = $1 and s.environment = $2`;

const countSchedules = statement<Standing & { exists: boolean }>(
  'plan_room.schedules',
  `select o.plan, (select count(*)::int from ${liveSchedules}) as count,
          exists (select from ${liveSchedules} and s.automation_id = $3) as exists
     from organization o where o.id = $1`,
);

function enforcePlanLimit(counted: Counted, { plan, count }: Standing): void {
  const limit = automationLimits[counted].of(plan);
  if (count < limit) return;
  const message = `The plan ${plan} includes ${limit.toLocaleString('en-US')} ${counted}.`;
  throw new AppError('forbidden', message, { limit, plan });
}

/** Whether the plan includes one more workflow. Transactions of a tenant that ask take turns. @throws AppError forbidden */
export async function enforceWorkflowLimit(tx: Transaction): Promise<void> {
  await lockForTransaction(tx, 'workflows');
  enforcePlanLimit('workflows', (await tx.one(countWorkflows))!);
}

/** The same for the schedule of a workflow. One that it has can always be replaced. @throws AppError forbidden */
export async function enforceScheduleLimit(tx: Transaction, automationId: string): Promise<void> {
  await lockForTransaction(tx, 'schedules');
  const { exists, ...standing } = (await tx.one(countSchedules, automationId))!;
  if (!exists) enforcePlanLimit('schedules', standing);
}
