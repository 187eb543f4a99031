import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { PushSubscription } from '../definition/integration.ts';
import { failPoint } from '../fail-points.ts';
import { queueFetches } from '../inbound/queue-fetches.ts';
import type { CatchUp } from './event-source-entities.ts';
import type { Followed } from './followed.ts';

/** How far before the time at which it was noticed events may have been missed: providers repeat for hours. */
const unnoticedMs = 12 * 3_600_000;
/**
 * How far back missed events are requested at most, and how long a position in a list is of use. An event that was
 * published before is recognized by its row, which is kept for seven days at least.
 */
const maxMissedMs = 6 * 86_400_000;
/** Maximum in one run, for all resources together. The rest waits for the next run. */
const maxMissedPages = 50;
/**
 * While so many events of a connection wait for their data, no more are listed: what waits for a day is dropped, and a
 * position after it would lose it.
 */
const maxWaiting = 5_000;

/** A resource of which events may have been missed. */
export interface Behind {
  resource: string;
  listenedSince: Date;
  /** A timestamp of PostgreSQL with all its digits; null where nothing was missed. */
  missedAt: string | null;
  catchUp: CatchUp | null;
}

const savePlace = statement({
  name: 'integration.save_catch_up',
  parameters: { connectionId: 'uuid', resource: 'text', before: 'jsonb?', next: 'jsonb' },
  row: { saved: 'boolean' },
  text: `update integration_push set catch_up = :next
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and resource = :resource and catch_up is not distinct from :before
   returning true as saved`,
});
// Where events were missed after the list had begun, the next list begins at its end.
const endList = statement({
  name: 'integration.end_catch_up',
  parameters: { connectionId: 'uuid', resource: 'text', missedAt: 'text', before: 'jsonb', end: 'jsonb' },
  row: { catchUp: typed<CatchUp | null>('jsonb?') },
  text: `update integration_push
      set catch_up = case when missed_at = :missedAt::timestamptz then null
            else jsonb_set(:end, '{missedAt}', to_jsonb(missed_at::text)) end,
          missed_at = case when missed_at = :missedAt::timestamptz then null else missed_at end
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and resource = :resource and catch_up is not distinct from :before
   returning catch_up as "catchUp"`,
});
const forgetMissed = statement({
  name: 'integration.forget_missed',
  parameters: { connectionId: 'uuid', resource: 'text' },
  text: `update integration_push set missed_at = null, catch_up = null
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and resource = :resource`,
});
const countWaiting = statement({
  name: 'integration.count_waiting_events',
  parameters: { connectionId: 'uuid' },
  row: { count: 'int' },
  text: `select count(*)::int as count from (
     select from integration_inbound_event
      where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
        and reference is not null limit ${maxWaiting}) waiting`,
});

const lastRead = ({ catchUp }: Behind): number => catchUp?.readAt ?? 0;

/**
 * Requests missed events of resources, as far as one run may.
 * @param attempt does the work for one resource: decides which failures end the run
 */
export async function catchUpAll(
  followed: Followed,
  push: PushSubscription,
  resources: readonly Behind[],
  attempt: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const behind = resources.filter(({ missedAt }) => missedAt !== null);
  if (behind.length === 0) return;
  const { scope, connected } = followed;
  const { count } = (await scope.one(countWaiting, { connectionId: connected.id }))!;
  if (count >= maxWaiting) return;
  const budget = { pages: maxMissedPages };
  // The list that was read longest ago comes first: none waits for ever behind long lists of other resources.
  for (const one of behind.toSorted((a, b) => lastRead(a) - lastRead(b))) {
    await attempt(() => catchUp(followed, push, one, budget));
  }
}

/**
 * Reads the list of missed events of one resource. Events that were pushed all the same have the same keys. The place in
 * the list is written before its first page is requested, and later together with the events before it: after a crash a
 * page is requested again.
 */
async function catchUp(
  { scope, integration, connected: { id: connectionId }, use }: Followed,
  { missed }: PushSubscription,
  { resource, listenedSince, missedAt, catchUp: known }: Behind,
  budget: { pages: number },
): Promise<void> {
  if (!missed) {
    await scope.rows(forgetMissed, { connectionId, resource });
    return;
  }
  const own = { connectionId, resource };
  const oldest = clock.now() - maxMissedMs;
  let place = known !== null && known.readAt > oldest ? known : undefined;
  if (!place) {
    const since = Math.max(listenedSince.getTime(), Date.parse(missedAt!) - unnoticedMs, oldest);
    // A list excludes the time at which it begins, and providers truncate times to milliseconds. Subtracting one millisecond
    // includes the events of the millisecond of `since`.
    place = { missedAt: missedAt!, cursor: missed.begin(new Date(since - 1)), readAt: clock.now() };
    if (!(await scope.one(savePlace, { ...own, before: known && JSON.stringify(known), next: JSON.stringify(place) })))
      return;
  }
  while (place && budget.pages > 0) {
    budget.pages--;
    const before: CatchUp = place;
    const { events, cursor, more } = await use((call) => missed.read(resource, before.cursor, call));
    failPoint('integration.missed_read');
    const after: CatchUp = { missedAt: before.missedAt, cursor, readAt: clock.now() };
    const change = { ...own, before: JSON.stringify(before) };
    place = await scope.transaction(async (tx: Scope) => {
      if (events.length > 0) await queueFetches(tx, { integration, connectionId }, events);
      if (more) return (await tx.one(savePlace, { ...change, next: JSON.stringify(after) })) && after;
      const { missedAt: answered } = before;
      return (
        (await tx.one(endList, { ...change, missedAt: answered, end: JSON.stringify(after) }))?.catchUp ?? undefined
      );
    });
    // Without a place, the list has ended or another run reads it.
    failPoint('integration.missed_saved');
  }
}
