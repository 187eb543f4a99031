import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { schedulingLimits } from './core/plan-limits.ts';

const tables = {
  hosts: 'scheduling_host where deleted_at is null and',
  eventTypes: 'scheduling_event_type where deleted_at is null and',
  recurringPatterns: 'recurring_pattern where',
  blackoutPeriods: 'blackout_period where',
} as const;
export type Counted = keyof typeof tables;

const words: Record<Counted, string> = {
  hosts: 'hosts',
  eventTypes: 'event types',
  recurringPatterns: 'recurring patterns',
  blackoutPeriods: 'blackout periods',
};

const count = (of: Counted) =>
  statement({
    name: `plan_room.${words[of].replace(' ', '_')}`,
    row: { plan: typed<PlanName>('text'), count: 'int' },
    text: `select o.plan, (select count(*)::int from ${tables[of]} organization_id = :organizationId and environment = :environment) as count
       from organization o where o.id = :organizationId`,
  });
const counts = {
  hosts: count('hosts'),
  eventTypes: count('eventTypes'),
  recurringPatterns: count('recurringPatterns'),
  blackoutPeriods: count('blackoutPeriods'),
};

/** Whether the plan includes one more. Transactions of a tenant that ask take turns. @throws AppError forbidden */
export async function enforcePlanLimit(tx: Transaction, of: Counted): Promise<void> {
  await lockForTransaction(tx, of);
  const { plan, count: existing } = (await tx.one(counts[of]))!;
  const limit = schedulingLimits[of].of(plan);
  if (existing < limit) return;
  const message = `The plan ${plan} includes ${limit.toLocaleString('en-US')} ${words[of]}.`;
  throw new AppError('forbidden', message, { limit, plan });
}
