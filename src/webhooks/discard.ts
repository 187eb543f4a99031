import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';

const discardStatement = statement<{ id: string; subscriptionId: string }>(
  'delivery.discard',
  `update delivery set status = 'failed', error_class = 'discarded', finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'dead_lettered'
   returning id, subscription_id as "subscriptionId"`,
);

/** Gives a dead letter up for ever. @returns undefined when it is none */
export const discardDeadLetter = (scope: Scope, deliveryId: string) => scope.one(discardStatement, deliveryId);
