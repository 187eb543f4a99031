import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

/**
 * When events of a subscription were missed, as a column of `table`. Before its list begins, the earliest of several
 * times stays: the list covers all of them. Events that are missed after the list began need another one.
 * @param since SQL of the time from which events were missed
 */
export const missedAtSql = (table: string, since: string): string =>
  `case when ${table}.missed_at is null then ${since}
        when ${table}.missed_at = (${table}.catch_up->>'missedAt')::timestamptz then atelier_now()
        else ${table}.missed_at end`;

const missAll = statement({
  name: 'integration.miss_all_pushed',
  parameters: { connectionId: 'uuid' },
  text: `with own as (
     select connection_id, resource from integration_push
      where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      order by resource for update)
   update integration_push p set missed_at = ${missedAtSql('p', 'atelier_now()')}
     from own where p.connection_id = own.connection_id and p.resource = own.resource`,
});

/** The access to an account ended: what is pushed before it is connected again cannot be read, and is listed then. */
export async function missPushed(tx: Transaction, connectionId: string): Promise<void> {
  await tx.rows(missAll, { connectionId });
}
