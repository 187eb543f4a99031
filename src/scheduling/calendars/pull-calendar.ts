import { clock } from '../../platform/clock.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { CalendarOutcome } from '../../temporal/contracts/calendars.ts';
import { isDeleted } from '../../tenancy/index.ts';
import { isConnected } from '../core/calendar-status.ts';
import type { Interval } from '../core/intervals.ts';
import { needsBaseline, syncWindow } from '../core/sync-window.ts';
import { failPoint } from '../fail-points.ts';
import { applyChanges } from './apply-changes.ts';
import type { Baseline } from './calendar-entities.ts';
import { lostAccessOf, toCalendarFailure } from './clients/access-failures.ts';
import type { CalendarClients } from './clients/clients.ts';
import {
  type CalendarCall,
  CalendarTooLarge,
  type ListedEvent,
  type ListedPage,
  SyncTokenExpired,
} from './clients/ports.ts';
import { removeLeftEntries } from './left-entries.ts';
import { mayHaveOwnEvents, noteMissingEvents, takeOwnEvents } from './own-events.ts';
import { type SettleServices, settleOutsideChanges } from './settle-changes.ts';
import { blockWindow, dropEarlier, dropUnread, lastOfEach, storeBusy } from './store-busy.ts';
import { beginSync, type SyncedCalendar, stopSyncs } from './sync-state.ts';
import { type WatchServices, watchCalendar } from './watch.ts';

export interface PullServices extends SettleServices, WatchServices {
  calendarClients: CalendarClients;
  log: Log;
}

/** Maximum per calendar, in the window that is read. */
export const maxEvents = 20_000;
/** Maximum per sync: a provider could otherwise return empty pages for ever. */
const maxPages = 2_000;
/** Changes that one transaction applies. After more of them everything is read again, page by page. */
const maxChanges = 5_000;
/** Pages of a baseline that was given up are of use to the next attempt for so long: their tokens end. */
const resumeWithinMs = 30 * 60_000;

/** Another sync of the same calendar took over, or the calendar was deleted. */
class Superseded extends Error {}

const keepBaseline = statement({
  name: 'calendar.keep_baseline',
  parameters: { calendarId: 'uuid', syncId: 'uuid', baseline: 'jsonb' },
  row: { id: 'uuid' },
  text: `update calendar set baseline = :baseline
    where organization_id = :organizationId and environment = :environment and id = :calendarId and sync_id = :syncId
      returning id`,
});

const endBaseline = statement({
  name: 'calendar.end_baseline',
  parameters: {
    calendarId: 'uuid',
    syncId: 'uuid',
    generation: 'int',
    syncToken: 'text',
    windowStartsAt: 'timestamptz',
    windowEndsAt: 'timestamptz',
  },
  row: { id: 'uuid' },
  text: `update calendar
      set generation = :generation, sync_token = :syncToken, window_starts_at = :windowStartsAt,
        window_ends_at = :windowEndsAt, baselined_at = atelier_now(),
          baseline = null, status = 'active', last_synced_at = atelier_now(),
          last_error_code = null, last_error_message = null, last_error_at = null
    where organization_id = :organizationId and environment = :environment and id = :calendarId and sync_id = :syncId
      returning id`,
});

const holdSync = statement({
  name: 'calendar.hold_sync',
  parameters: { calendarId: 'uuid', syncId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from calendar
    where organization_id = :organizationId and environment = :environment and id = :calendarId and sync_id = :syncId
      for no key update`,
});

/** One sync under way. */
interface Sync {
  services: PullServices;
  scope: Scope;
  calendar: SyncedCalendar;
  window: Interval;
  call: CalendarCall;
}

const listPage = (
  { services, scope, calendar, call }: Sync,
  listing: Parameters<ReturnType<CalendarClients['clientFor']>['list']>[1],
  page: string | null,
): Promise<ListedPage> => {
  call.signal.throwIfAborted();
  const client = services.calendarClients.clientFor(scope.tenant.environment, calendar.service);
  const account = { scope, calendarId: calendar.id, connectionId: calendar.connectionId };
  return client.list(account, listing, page, call);
};

const required = (row: unknown): void => {
  if (!row) throw new Superseded();
};

async function applyAll(
  { scope, calendar }: Sync,
  found: readonly ListedEvent[],
  token: string,
  askedAt: number,
): Promise<void> {
  const { id, syncId, generation } = calendar;
  const window = { startsAt: calendar.windowStartsAt!.getTime(), endsAt: calendar.windowEndsAt!.getTime() };
  const apply = async (on: Scope, events: readonly ListedEvent[]) => {
    const changes = { calendarId: id, syncId, generation, window, events, token };
    const result = await applyChanges(on, changes, maxEvents);
    if (result === 'superseded') throw new Superseded();
    if (result === 'too_many') throw new CalendarTooLarge(maxEvents);
  };
  // Most changes are of others' events alone, and are one statement.
  if (!(await mayHaveOwnEvents(scope, id, found))) return apply(scope, found);
  await scope.transaction(async (tx) => {
    required(await tx.one(holdSync, { calendarId: id, syncId }));
    await apply(tx, await takeOwnEvents(tx, id, found, { askedAt, baseline: null }));
  });
}

/** @returns how many changes were applied; undefined when everything has to be read. @throws SyncTokenExpired */
async function readChanges(sync: Sync, since: string): Promise<number | undefined> {
  const askedAt = clock.now();
  const found: ListedEvent[] = [];
  let page: string | null = null;
  for (let pages = 0; pages < maxPages; pages++) {
    const listed = await listPage(sync, { kind: 'changes', since }, page);
    found.push(...listed.events);
    if (found.length > maxChanges) return undefined;
    if ('page' in listed.next) {
      page = listed.next.page;
      continue;
    }
    await applyAll(sync, lastOfEach(found), listed.next.token, askedAt);
    return found.length;
  }
  return undefined;
}

const newBaseline = (
  { calendar, window }: Pick<Sync, 'calendar' | 'window'>,
  beganAt: number,
  before: Baseline | null,
): Baseline => {
  const generation = Math.max(calendar.generation, before?.generation ?? 0) + 1;
  return { generation, beganAt, ...window, page: null, pages: 0, events: 0 };
};

/** A baseline that an earlier attempt began, or a new one. */
function baselineOf({ calendar, window }: Sync, now: number): Baseline {
  const { baseline, generation } = calendar;
  const isOfUse = baseline && baseline.generation > generation && now - baseline.beganAt < resumeWithinMs;
  if (isOfUse && baseline.endsAt >= window.endsAt - resumeWithinMs) return baseline;
  return newBaseline({ calendar, window }, now, baseline);
}

async function storePage(
  tx: Transaction,
  calendarId: string,
  baseline: Baseline,
  events: readonly ListedEvent[],
  askedAt: number,
): Promise<void> {
  const { generation, page } = baseline;
  // What readings left behind that were given up.
  if (page === null) await dropUnread(tx, calendarId);
  const others = await takeOwnEvents(tx, calendarId, lastOfEach(events), { askedAt, baseline: generation });
  await storeBusy(tx, calendarId, generation, baseline, others);
}

/**
 * Reads everything into a generation that is not used before it is complete. Each page is stored with the start of the
 * next one, so an attempt after a crash continues from there. The next page is fetched while one is stored.
 * @returns the number of events. @throws SyncTokenExpired when a page has expired
 */
async function readEverything(sync: Sync, baseline: Baseline): Promise<number> {
  const { scope, calendar, call } = sync;
  const { id, syncId } = calendar;
  const { startsAt, endsAt, generation } = baseline;
  const ahead = new AbortController();
  const reading = { ...sync, call: { ...call, signal: AbortSignal.any([call.signal, ahead.signal]) } };
  const ask = async (page: string | null) => {
    const askedAt = clock.now();
    return { askedAt, ...(await listPage(reading, { kind: 'window', window: { startsAt, endsAt } }, page)) };
  };
  try {
    for (let [at, asked] = [baseline, ask(baseline.page)]; ; ) {
      const { askedAt, events, next } = await asked;
      const count = { pages: at.pages + 1, events: at.events + events.length };
      if (count.events > maxEvents || count.pages > maxPages) throw new CalendarTooLarge(maxEvents);
      if ('page' in next) {
        const following = { ...at, ...count, page: next.page };
        asked = ask(following.page);
        // What becomes of it is seen once this page is stored.
        asked.catch(() => {});
        await scope.transaction(async (tx) => {
          required(await tx.one(keepBaseline, { calendarId: id, syncId, baseline: JSON.stringify(following) }));
          await storePage(tx, id, at, events, askedAt);
        });
        failPoint('calendar.page_stored');
        at = following;
        continue;
      }
      await scope.transaction(async (tx) => {
        const baselined = await tx.one(endBaseline, {
          calendarId: id,
          syncId,
          generation,
          syncToken: next.token,
          windowStartsAt: new Date(startsAt),
          windowEndsAt: new Date(endsAt),
        });
        required(baselined);
        await storePage(tx, id, at, events, askedAt);
        await noteMissingEvents(tx, id, baseline);
      });
      return count.events;
    }
  } finally {
    ahead.abort();
  }
}

async function read(sync: Sync): Promise<CalendarOutcome> {
  const { calendar, window } = sync;
  const { syncToken, baselinedAt, windowEndsAt } = calendar;
  const now = clock.now();
  const kept =
    syncToken !== null && baselinedAt && windowEndsAt
      ? { baselinedAt: baselinedAt.getTime(), endsAt: windowEndsAt.getTime() }
      : undefined;
  if (syncToken !== null && !needsBaseline(kept, window, now)) {
    const changes = await readChanges(sync, syncToken).catch((error) => {
      if (error instanceof SyncTokenExpired) return undefined;
      throw error;
    });
    if (changes !== undefined) return { read: changes, of: 'changes' };
  }
  const baseline = baselineOf(sync, now);
  try {
    return { read: await readEverything(sync, baseline), of: 'everything' };
  } catch (error) {
    if (!(error instanceof SyncTokenExpired)) throw error;
    // A page of an earlier attempt, or of a listing that the provider gave up: once more from the beginning.
    return { read: await readEverything(sync, newBaseline(sync, now, baseline)), of: 'everything' };
  }
}

/**
 * One sync: reads the changes of a calendar, or everything. Readers see the previous busy times until it is complete.
 * @throws ProviderFailure; the signal's reason
 */
export async function pullCalendar(
  services: PullServices,
  scope: Scope,
  calendarId: string,
  signal: AbortSignal,
): Promise<CalendarOutcome> {
  const calendar = (await isDeleted(scope)) ? undefined : await beginSync(scope, calendarId);
  if (!calendar) return { stopped: 'deleted' };
  const { status, timezone } = calendar;
  if (!isConnected(status)) return { stopped: status as 'auth_expired' | 'disconnected' };
  const call = { signal, timezone, memory: new Map() };
  const sync = { services, scope, calendar, window: syncWindow(clock.now(), calendar.maxAdvance), call };
  try {
    const outcome = await read(sync).catch(async (error) => {
      // The events that are not read would be free time.
      if (error instanceof CalendarTooLarge) await blockWindow(scope, calendar, sync.window);
      if (error instanceof SyncTokenExpired) throw new ProviderFailure('malformed_answer', error.message);
      throw error;
    });
    failPoint('calendar.synced');
    // The next full sync removes the rows of a sync that died.
    if ('of' in outcome && outcome.of === 'everything') await dropEarlier(scope, calendarId);
    await removeLeftEntries(services, scope, calendar, call);
    await settleOutsideChanges(services, scope, calendar, call);
    await watchCalendar(services, scope, calendarId, call);
    return outcome;
  } catch (error) {
    if (error instanceof Superseded) return { superseded: true };
    const lost = lostAccessOf(error);
    if (!lost) throw toCalendarFailure(error);
    // The answers to an earlier sync say nothing of a calendar that was connected again.
    const isOwn = await scope.transaction(async (tx) => {
      if (!(await tx.one(holdSync, { calendarId, syncId: calendar.syncId }))) return false;
      await stopSyncs(tx, calendarId, lost);
      return true;
    });
    return isOwn ? { stopped: lost } : { superseded: true };
  }
}
