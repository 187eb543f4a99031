import { AppError } from '../platform/errors.ts';
import type { Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { takeTurn } from '../platform/tenant-turn.ts';
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

function requireRoom(counted: Counted, { plan, count }: Standing): void {
  const limit = automationLimits[counted].of(plan);
  if (count < limit) return;
  const message = `The plan ${plan} includes ${limit.toLocaleString('en-US')} ${counted}.`;
  throw new AppError('forbidden', message, { limit, plan });
}

/** Whether the plan includes one more workflow. Transactions of a tenant that ask take turns. @throws AppError forbidden */
export async function requireRoomForWorkflow(tx: Transaction): Promise<void> {
  await takeTurn(tx, 'workflows');
  requireRoom('workflows', (await tx.one(countWorkflows))!);
}

/** The same for the schedule of a workflow. One that it has can always be replaced. @throws AppError forbidden */
export async function requireRoomForSchedule(tx: Transaction, automationId: string): Promise<void> {
  await takeTurn(tx, 'schedules');
  const { exists, ...standing } = (await tx.one(countSchedules, automationId))!;
  if (!exists) requireRoom('schedules', standing);
}
