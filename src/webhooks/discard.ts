import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';

const discardStatement = statement<{ id: string }>(
  'delivery.discard',
  `update delivery set status = 'failed', error_class = 'discarded', finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'dead_lettered'
   returning id`,
);

/** Gives a dead letter up for ever. @returns false when it is none */
export const discardDeadLetter = async (scope: Scope, deliveryId: string): Promise<boolean> =>
  (await scope.one(discardStatement, deliveryId)) !== undefined;
