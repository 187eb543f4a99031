import { removalOf } from '../platform/database/remove-rows.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { tenancyLimits } from './core/limits.ts';

const today = "(atelier_now() at time zone 'UTC')::date";

const count = statement({
  name: 'mails.count',
  parameters: { mailsByPlan: 'jsonb', isRequired: 'boolean' },
  row: { isWithinLimit: 'boolean' },
  text: `with allowed as (
     select m.number::int as mails from organization o
       join jsonb_each_text(:mailsByPlan) as m (plan, number) on m.plan = o.plan
      where o.id = :organizationId),
   counted as (
     insert into mail_day as d (organization_id, environment, day, mails)
     select :organizationId, :environment, ${today}, 1 from allowed where :isRequired or allowed.mails > 0
     on conflict (organization_id, environment, day) do update set mails = d.mails + 1
      where :isRequired or d.mails < (select mails from allowed)
     returning mails)
   select exists (select from counted, allowed where counted.mails <= allowed.mails) as "isWithinLimit"`,
});

/**
 * Counts a mail to an address that belongs to no member, against the mails that the plan includes in a UTC day.
 * @param isRefusable a mail above the limit is not counted: the caller does not send it
 * @returns whether the plan includes it
 */
export async function countMail(scope: Scope, { isRefusable }: { isRefusable: boolean }): Promise<boolean> {
  return (await scope.one(count, { mailsByPlan: tenancyLimits.mailsPerDay.byPlan(), isRequired: !isRefusable }))!
    .isWithinLimit;
}

/** The limit looks at the current day. */
const keptDays = 31;

/** Removes the counts of days that are long over. */
export const forgetOldMails = removalOf({
  name: 'mails.forget',
  table: 'mail_day',
  where: `day < ${today} - ${keptDays}`,
});
