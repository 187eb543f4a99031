import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { enforceLimit } from '../../tenancy/index.ts';
import { webhookLimits } from '../core/limits.ts';

const countWebhooks = statement({
  name: 'plan_limit.webhooks',
  row: { plan: typed<PlanName>('text'), count: 'int' },
  text: `select o.plan, (select count(*)::int from webhook_subscription
                    where organization_id = :organizationId and environment = :environment
                      and deleted_at is null) as count
     from organization o where o.id = :organizationId`,
});

/**
 * Whether the plan includes one more webhook, of whichever kind. Transactions of a tenant that ask run one after another.
 * @throws AppError forbidden
 */
export async function enforcePlanLimit(tx: Transaction): Promise<void> {
  await lockForTransaction(tx, 'webhooks');
  enforceLimit(webhookLimits.webhooks, (await tx.one(countWebhooks))!, 'webhooks');
}
