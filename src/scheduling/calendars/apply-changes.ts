import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Interval } from '../core/intervals.ts';
import type { ListedEvent } from './clients/ports.ts';
import { busyColumns, putGiven, splitBusy, unreadEventsKey } from './store-busy.ts';

const ofGeneration = `organization_id = :organizationId and environment = :environment and calendar_id = :calendarId and generation = :generation`;

// One statement, because most syncs find a handful of changes and each round trip costs as much as they do. Counting
// all busy times takes long, so it is done only when there are new ones. New ones are detected in the order of the
// primary key, because without statistics of the table the planner considers any index equally good.
const apply = statement({
  name: 'calendar.apply_changes',
  parameters: {
    calendarId: 'uuid',
    generation: 'int',
    keys: 'uuid[]',
    starts: 'timestamptz[]',
    ends: 'timestamptz[]',
    areLong: 'boolean[]',
    others: 'uuid[]',
    syncId: 'uuid',
    syncToken: 'text',
    limit: 'bigint',
  },
  row: { hasEnded: 'boolean', hasCapacity: 'boolean' },
  text: `with given as materialized (
     select * from unnest(:keys, :starts, :ends, :areLong)
       as g (event_key, starts_at, ends_at, is_long)),
   added as materialized (
     select count(*) as count from given g left join lateral (
       select true as is_known from calendar_busy
        where ${ofGeneration} and event_key >= g.event_key and event_key <= g.event_key
        order by event_key limit 1) b on true
      where b.is_known is null),
   room as materialized (
     select case when added.count = 0 then true
                 else (select count(*) from calendar_busy where ${ofGeneration} and event_key <> all(:others))
                      + added.count <= :limit end as is_left from added),
   ended as (
     update calendar
        set sync_token = :syncToken, status = 'active', last_synced_at = atelier_now(),
            last_error_code = null, last_error_message = null, last_error_at = null
      where organization_id = :organizationId and environment = :environment and id = :calendarId
        and sync_id = :syncId and generation = :generation
        and (select is_left from room)
     returning id),
   dropped as (
     delete from calendar_busy where ${ofGeneration} and cardinality(:others) > 0 and event_key = any(:others)
        and exists (select from ended)),
   stored as (${putGiven('given where exists (select from ended)')})
   select exists (select from ended) as "hasEnded", is_left as "hasCapacity" from room`,
});

export interface Changes {
  calendarId: string;
  /** The sync that applies them. */
  syncId: string;
  /** The baseline that is read, and its window. */
  generation: number;
  window: Interval;
  /** Each once, without our own. */
  events: readonly ListedEvent[];
  /** Where the next changes begin. */
  token: string;
}

/**
 * Ends a sync of changes: stores the times that events block, deletes times that they no longer block, and records
 * where the next sync begins. In one transaction: a reader sees none of the changes, or all.
 * @param most busy times that a calendar may have
 * @returns what was in the way: the sync is another one's by now, or there would be too many
 */
export async function applyChanges(
  scope: Scope,
  { calendarId, syncId, generation, window, events, token }: Changes,
  limit: number,
): Promise<'applied' | 'superseded' | 'too_many'> {
  const { blocking, others } = splitBusy(events, window);
  const { hasEnded, hasCapacity } = (await scope.one(apply, {
    calendarId,
    generation,
    ...busyColumns(blocking),
    // Those of the calendar that were too many are no more once these are applied.
    others: [...others, unreadEventsKey],
    syncId,
    syncToken: token,
    limit,
  }))!;
  return hasEnded ? 'applied' : hasCapacity ? 'superseded' : 'too_many';
}
