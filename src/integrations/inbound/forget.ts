import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';

const keptHours = 24;

const forget = systemStatement({
  name: 'integration.forget_inbound_events',
  parameters: { limit: 'int' },
  row: { forgotten: 'boolean' },
  text: `delete from integration_inbound_event where (connection_id, digest) in (
     select connection_id, digest from integration_inbound_event
      where received_at < atelier_statement_now() - make_interval(hours => ${keptHours})
      order by received_at limit :limit for update skip locked)
   returning true as forgotten`,
});

/** Removes events of more than a day ago: providers no longer repeat them. @returns how many */
export const forgetInboundEvents = async (database: Database, limit: number): Promise<number> =>
  (await sqlOn(database.pool).rows(forget, { limit })).length;
