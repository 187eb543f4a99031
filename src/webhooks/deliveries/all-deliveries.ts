import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';
import { subscriptionIs } from '../core/subscription-state.ts';
import { eventIdOf } from './publish-event.ts';

/** Ids are canonical uuids. */
interface AnyDeliveryFilter {
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

const findAll = systemStatement({
  name: 'delivery.of_all_tenants',
  parameters: {
    status: 'text?',
    organizationId: 'uuid?',
    subscriptionId: 'uuid?',
    eventType: 'text?',
    since: 'timestamptz?',
    limit: 'int',
  },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    subscriptionId: 'uuid',
    eventId: 'uuid',
    eventType: 'text',
    status: typed<DeliveryStatus>('text'),
    isActive: 'boolean',
    attempts: 'int',
    statusCode: 'int?',
    errorClass: 'text?',
    createdAt: 'timestamptz',
    nextAttemptAt: 'timestamptz?',
    finishedAt: 'timestamptz?',
  },
  text: `select d.id, d.organization_id as "organizationId", d.environment, d.subscription_id as "subscriptionId",
          e.id as "eventId", e.type as "eventType", d.status, ${subscriptionIs('s', 'active')} as "isActive",
          d.attempts, d.status_code as "statusCode", d.error_class as "errorClass", d.created_at as "createdAt",
          d.next_attempt_at as "nextAttemptAt", d.finished_at as "finishedAt"
     from delivery d
     join event e on e.id = ${eventIdOf('d')}
     join webhook_subscription s on s.id = d.subscription_id
    where (:status is null or d.status = :status) and (:organizationId is null or d.organization_id = :organizationId)
      and (:subscriptionId is null or d.subscription_id = :subscriptionId) and (:eventType is null
        or e.type = :eventType)
      and (:since is null or coalesce(d.finished_at, d.created_at) >= :since)
    order by d.id desc limit :limit`,
});

/** Deliveries of all tenants, newest first, for operators. */
export function listAnyDeliveries(
  database: Database,
  { status, organizationId, subscriptionId, eventType, since }: AnyDeliveryFilter,
  limit: number,
): Promise<AnyDelivery[]> {
  return sqlOn(database.pool).rows(findAll, {
    status: status ?? null,
    organizationId: organizationId ?? null,
    subscriptionId: subscriptionId ?? null,
    eventType: eventType ?? null,
    since: since ?? null,
    limit,
  });
}
