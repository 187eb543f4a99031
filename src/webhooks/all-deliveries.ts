import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { DeliveryStatus } from './core/delivery-status.ts';
import { subscriptionIs } from './core/subscription-state.ts';
import { eventIdOf } from './publish-event.ts';

/** Ids are canonical uuids. */
export interface AnyDeliveryFilter {
  status?: DeliveryStatus | undefined;
  organizationId?: string | undefined;
  subscriptionId?: string | undefined;
  eventType?: string | undefined;
  /** Finished at or after this time; open ones: created at or after it. */
  since?: Date | undefined;
}

export interface AnyDelivery extends Tenant {
  id: string;
  subscriptionId: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  /** Whether its subscription is active; nothing can be replayed while it is off. */
  isActive: boolean;
  attempts: number;
  statusCode: number | null;
  errorClass: string | null;
  createdAt: Date;
  nextAttemptAt: Date | null;
  finishedAt: Date | null;
}

const findAll = statement<AnyDelivery>(
  'delivery.of_all_tenants',
  `select d.id, d.organization_id as "organizationId", d.environment, d.subscription_id as "subscriptionId",
          e.id as "eventId", e.type as "eventType", d.status, ${subscriptionIs('s', 'active')} as "isActive",
          d.attempts, d.status_code as "statusCode", d.error_class as "errorClass", d.created_at as "createdAt",
          d.next_attempt_at as "nextAttemptAt", d.finished_at as "finishedAt"
     from delivery d
     join event e on e.id = ${eventIdOf('d')}
     join webhook_subscription s on s.id = d.subscription_id
    where ($1::varchar is null or d.status = $1) and ($2::uuid is null or d.organization_id = $2)
      and ($3::uuid is null or d.subscription_id = $3) and ($4::varchar is null or e.type = $4)
      and ($5::timestamptz is null or coalesce(d.finished_at, d.created_at) >= $5)
    order by d.id desc limit $6`,
);

/** Deliveries of all tenants, newest first, for operators. */
export function listAnyDeliveries(
  database: Database,
  { status, organizationId, subscriptionId, eventType, since }: AnyDeliveryFilter,
  limit: number,
): Promise<AnyDelivery[]> {
  const of = [status, organizationId, subscriptionId, eventType, since].map((value) => value ?? null);
  return sqlOn(database.pool).rows(findAll, [...of, limit]);
}
