import type { Database } from '../platform/database/database.ts';
import { removalOf } from '../platform/database/remove-rows.ts';

/** Longer than the reason of a notice lasts, which is a week, except for the use of a deprecated endpoint. */
const noticeDays = 90;
/** An endpoint that was not used for this long is no longer announced to the organization. */
const unusedDays = 365;

const forgetUses = removalOf({
  name: 'deprecation.forget',
  table: 'deprecated_use',
  where: `last_used_at < atelier_now() - make_interval(days => ${unusedDays})`,
});

const forgetNotices = removalOf({
  name: 'notice.forget',
  table: 'notice',
  where: `greatest(leased_until, sent_at) < atelier_now() - make_interval(days => ${noticeDays})
            and not exists (select from deprecated_use u where u.organization_id = notice.organization_id
                               and notice.about = 'deprecation ' || u.route || ' ' || u.sunset::text)`,
});

/** Removes records of mails whose reason ended long ago, and of endpoints that have not been used for long. */
export async function forgetOldNotices(database: Database, limit: number): Promise<number> {
  const uses = await forgetUses(database, limit);
  return Math.max(uses, await forgetNotices(database, limit));
}
