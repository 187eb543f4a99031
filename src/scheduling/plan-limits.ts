import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { enforceLimit } from '../tenancy/index.ts';
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

/** Bytes of all rows of a list as JSON: it is answered as a whole, and no answer has more than 2 MiB. */
const maxListBytes = 1536 * 1024;

const size = (of: 'eventTypes' | 'blackoutPeriods') =>
  statement({
    name: `list_size.${words[of].replace(' ', '_')}`,
    row: { bytes: 'int' },
    text: `select coalesce(sum(octet_length(row_to_json(listed)::text)), 0)::int as bytes
       from (select * from ${tables[of]} organization_id = :organizationId and environment = :environment) listed`,
  });
const sizes = { eventTypes: size('eventTypes'), blackoutPeriods: size('blackoutPeriods') };

/**
 * Called when a row was added or has grown, by transactions of a tenant that run one after another.
 * @throws AppError conflict when the list would be too large for an answer
 */
export async function enforceListSize(tx: Transaction, of: keyof typeof sizes): Promise<void> {
  const { bytes } = (await tx.one(sizes[of]))!;
  if (bytes <= maxListBytes) return;
  const message = `All ${words[of]} together have more than ${maxListBytes.toLocaleString('en-US')} bytes as JSON.`;
  throw new AppError('conflict', message, { limit: maxListBytes });
}

/** Whether the plan includes one more. Transactions of a tenant that ask run one after another. @throws AppError forbidden */
export async function enforcePlanLimit(tx: Transaction, of: Counted): Promise<void> {
  await lockForTransaction(tx, of);
  enforceLimit(schedulingLimits[of], (await tx.one(counts[of]))!, words[of]);
}
