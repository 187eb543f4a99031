import type { Database } from '../../platform/database/database.ts';
import { Scope, type Transaction } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { operator } from '../../platform/security/audit.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';
import { deliveryIds, webhookIds } from '../core/ids.ts';
import { eventIdOf } from '../deliveries/publish-event.ts';
import { contentExpunged, deliveryNotFound } from '../errors.ts';
import {
  type RenewedDelivery,
  type RenewOptions,
  type ReplayedDelivery,
  renewDeadLetter,
  subscriptionDisabled,
} from './replay.ts';

const discardStatement = statement({
  name: 'delivery.discard',
  parameters: { deliveryId: 'uuid' },
  row: { id: 'uuid', subscriptionId: 'uuid' },
  text: `update delivery set status = 'failed', error_class = 'discarded', finished_at = atelier_now(),
    parked_at = null
    where organization_id = :organizationId and environment = :environment and id = :deliveryId
      and status = 'dead_lettered'
   returning id, subscription_id as "subscriptionId"`,
});

/** Fails a dead letter for good, for its workflow. @returns undefined when it is not a dead letter */
const discardDeadLetter = (scope: Scope, deliveryId: string) => scope.one(discardStatement, { deliveryId });

/** A scope in which an operator acts for a tenant. */
export const operatorScopeOf = (database: Database, tenant: Tenant, correlationId: string) =>
  new Scope(database, tenant, correlationId, operator);

/** Changes a dead letter and writes the audit entry in one transaction. */
function audited<Changed extends { id: string; subscriptionId: string }>(
  scope: Scope,
  action: 'delivery.replay' | 'delivery.discard',
  change: (tx: Transaction) => Promise<Changed | undefined>,
): Promise<Changed | undefined> {
  return scope.transaction(async (tx) => {
    const changed = await change(tx);
    if (changed) {
      const facts = { webhookId: webhookIds.format(changed.subscriptionId) };
      await tx.audit({ action, subjectId: changed.id, facts });
    }
    return changed;
  });
}

/** `renewDeadLetter` with an audit entry. */
export const renewAsOperator = (scope: Scope, deliveryId: string, options?: RenewOptions) =>
  audited<RenewedDelivery>(scope, 'delivery.replay', (tx) => renewDeadLetter(tx, deliveryId, options));

/** `discardDeadLetter` with an audit entry. */
export const discardAsOperator = (scope: Scope, deliveryId: string) =>
  audited(scope, 'delivery.discard', (tx) => discardDeadLetter(tx, deliveryId));

const findStanding = systemStatement({
  name: 'delivery.standing',
  parameters: { id: 'uuid' },
  row: {
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    status: typed<DeliveryStatus>('text'),
    isActive: 'boolean',
    isExpunged: 'boolean',
  },
  text: `select d.organization_id as "organizationId", d.environment, d.status, s.is_active as "isActive",
          (select e.expunge_requested_at is not null from event e where e.id = ${eventIdOf('d')}) as "isExpunged"
     from delivery d join webhook_subscription s on s.id = d.subscription_id where d.id = :id`,
});

/**
 * Replays a dead letter of any tenant, without Temporal: a running worker makes the attempt within seconds.
 * @param id in either form
 * @throws AppError not_found; conflict unless it is a dead letter with its content, of a subscription that is turned on
 */
export async function replayAnyDelivery(database: Database, id: string): Promise<ReplayedDelivery> {
  const uuid = deliveryIds.parse(id);
  const found = uuid && (await sqlOn(database.pool).one(findStanding, { id: uuid }));
  if (!found) throw deliveryNotFound(id);
  const { status, isActive, isExpunged, ...tenant } = found;
  if (await renewAsOperator(operatorScopeOf(database, tenant, newId()), uuid, { ignoresBreaker: true })) {
    return { deliveryId: deliveryIds.format(uuid), status: 'pending' };
  }
  if (isExpunged) throw contentExpunged();
  if (status === 'dead_lettered' && !isActive) throw subscriptionDisabled();
  throw new AppError('conflict', `Only a dead letter can be replayed; this delivery is ${status}.`, { status });
}
