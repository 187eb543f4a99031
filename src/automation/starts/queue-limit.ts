import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { planRefusal } from '../../tenancy/index.ts';
import { automationLimits } from '../core/limits.ts';

const countQueued = statement({
  name: 'run.count_queued',
  row: { plan: typed<PlanName>('text'), runs: 'int' },
  text: `select o.plan, coalesce((select runs from queued_total
                                   where organization_id = :organizationId and environment = :environment), 0) as runs
     from organization o where o.id = :organizationId`,
});

/** What starts runs by itself notes it as the reason `queue_limit`. */
export class QueueLimitReached extends AppError {}

/**
 * Whether the plan includes so many more runs that may not begin yet. Transactions of a tenant that ask run one after another.
 * @throws AppError forbidden
 */
export async function enforceQueueLimit(tx: Transaction, more = 1): Promise<void> {
  await lockForTransaction(tx, 'queued runs');
  const { plan, runs } = (await tx.one(countQueued))!;
  if (runs + more <= automationLimits.queuedRuns.of(plan)) return;
  const { message, details } = planRefusal(automationLimits.queuedRuns, plan, 'runs that wait to begin');
  throw new QueueLimitReached('forbidden', message, details);
}
