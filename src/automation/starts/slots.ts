import { statement } from '../../platform/database/sql.ts';
import { openRun } from '../core/run-status.ts';

/** The lock of the transactions that decide which runs of a group begin. */
export const groupLock = (group: string): string => `concurrency ${group}`;

/** A run and the runs that led to it, some of which its group may contain. */
const ancestorsSql = `ancestors as (
     select r.id, r.parent_run_id from run r
      where r.organization_id = :organizationId and r.environment = :environment and r.id = :parentRunId
     union all
     select r.id, r.parent_run_id from ancestors join run r on r.id = ancestors.parent_run_id
      where r.organization_id = :organizationId and r.environment = :environment)`;

/** The state of a group when one of its runs is about to start. */
export const findStanding = statement({
  name: 'concurrency.standing',
  parameters: { automationId: 'uuid', group: 'uuid', parentRunId: 'uuid?' },
  row: { held: 'int', byAncestors: 'int', isAwaited: 'boolean' },
  text: `with recursive ${ancestorsSql},
   holders as (
     select id from run
      where organization_id = :organizationId and environment = :environment and concurrency_group = :group
        and slot = 'held' and status in (${openRun}))
   select (select count(*) from holders)::int as held,
          (select count(*) from holders join ancestors using (id))::int as "byAncestors",
          exists (select from run
                   where organization_id = :organizationId and environment = :environment and concurrency_group = :group
                     and slot = 'returning' and status in (${openRun}))
            or exists (select from run
                        where organization_id = :organizationId and environment = :environment
                          and automation_id = :automationId and queued_for = 'concurrency' and concurrency_group = :group
                          and status = 'queued') as "isAwaited"`,
});

/** The runs of a group that have had a slot for the longest time, except those that led to the new run. */
export const findOldestHolders = statement({
  name: 'concurrency.oldest_holders',
  parameters: { group: 'uuid', parentRunId: 'uuid?', count: 'int' },
  row: { id: 'uuid' },
  text: `with recursive ${ancestorsSql}
   select id from run
    where organization_id = :organizationId and environment = :environment and concurrency_group = :group
      and slot = 'held' and status in (${openRun}) and id not in (select id from ancestors)
    order by number limit :count`,
});
