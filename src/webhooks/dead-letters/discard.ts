import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

const discardStatement = statement({
  name: 'delivery.discard',
  parameters: { deliveryId: 'uuid' },
  row: { id: 'uuid', subscriptionId: 'uuid' },
  text: `update delivery set status = 'failed', error_class = 'discarded', finished_at = clock_timestamp(),
    parked_at = null
    where organization_id = :organizationId and environment = :environment and id = :deliveryId
      and status = 'dead_lettered'
   returning id, subscription_id as "subscriptionId"`,
});

/** Fails a dead letter for good, for its workflow. @returns undefined when it is not a dead letter */
export const discardDeadLetter = (scope: Scope, deliveryId: string) => scope.one(discardStatement, { deliveryId });
