import { statement } from '../../platform/database/sql.ts';

/**
 * A CTE that counts recorded attempts by webhook and hour. There is a row for each of 24 hours of the day, so that nothing
 * has to be removed. In the order of the webhooks, to avoid deadlocks.
 * @param recorded a CTE with the columns subscription_id and status, a row for each attempt of the tenant
 */
export const countAttemptsSql = (recorded: string) => `
     insert into attempt_hour as h (subscription_id, slot, organization_id, environment, hour, delivered, failed)
     select r.subscription_id, extract(hour from now.hour at time zone 'UTC'), :organizationId, :environment, now.hour,
            count(*) filter (where r.status = 'delivered'), count(*) filter (where r.status <> 'delivered')
       from ${recorded} r cross join (select date_trunc('hour', clock_timestamp(), 'UTC') as hour) now
      group by r.subscription_id, now.hour order by r.subscription_id
     on conflict (subscription_id, slot) do update
        set hour = excluded.hour,
            delivered = excluded.delivered + case when h.hour = excluded.hour then h.delivered else 0 end,
            failed = excluded.failed + case when h.hour = excluded.hour then h.failed else 0 end`;

/** The current hour and the 23 before it. */
export const attemptsOfDay = (subscription: string) =>
  `(select coalesce(sum(delivered), 0)::int as delivered, coalesce(sum(failed), 0)::int as failed from attempt_hour
     where organization_id = :organizationId and environment = :environment and subscription_id = ${subscription}
       and hour > clock_timestamp() - interval '24 hours')`;

/** Removes the counts of a deleted webhook. */
export const forgetAttempts = statement({
  name: 'attempt_hour.forget',
  parameters: { subscriptionId: 'uuid' },
  text: `delete from attempt_hour where organization_id = :organizationId and environment = :environment
    and subscription_id = :subscriptionId`,
});
