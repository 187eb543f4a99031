import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';

/** Longer than the reason of a notice lasts, which is a week, except for the use of a deprecated endpoint. */
const noticeDays = 90;
/** An endpoint that was not used for so long is not announced to the organization any more. */
const unusedDays = 365;

const forgetUses = systemStatement({
  name: 'deprecation.forget',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with gone as (
     delete from deprecated_use where ctid = any(array(
       select ctid from deprecated_use
        where last_used_at < clock_timestamp() - make_interval(days => ${unusedDays}) limit :limit))
     returning 1)
   select count(*)::int as count from gone`,
});

const forgetNotices = systemStatement({
  name: 'notice.forget',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with gone as (
     delete from notice where ctid = any(array(
       select n.ctid from notice n
        where greatest(n.leased_until, n.sent_at) < clock_timestamp() - make_interval(days => ${noticeDays})
          and not exists (select from deprecated_use u where u.organization_id = n.organization_id
                             and n.about = 'deprecation ' || u.route || ' ' || u.sunset::text)
        limit :limit))
     returning 1)
   select count(*)::int as count from gone`,
});

/** Removes what is known of mails whose reason is long over, and of endpoints that nobody uses any more. @returns how many rows */
export async function forgetOldNotices(database: Database, limit: number): Promise<number> {
  const sql = sqlOn(database.pool);
  const uses = (await sql.one(forgetUses, { limit }))!.count;
  return Math.max(uses, (await sql.one(forgetNotices, { limit }))!.count);
}
