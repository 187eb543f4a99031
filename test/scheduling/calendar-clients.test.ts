import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { AccessTokenRefused, AuthExpired } from '../../src/connections/failures.ts';
import type { Database } from '../../src/platform/database/database.ts';
import {
  type CalendarCall,
  CalendarGone,
  type ListedEvent,
  type Listing,
  SyncTokenExpired,
} from '../../src/scheduling/calendars/clients/ports.ts';
import { googleCalendarError } from '../fakes/google-calendar.ts';
import { graphError } from '../fakes/microsoft-calendar.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { entryOf, openStages, type Stage } from './calendar-stages.ts';

let files: TestDatabase;
let database: Database;
let opened: Awaited<ReturnType<typeof openStages>>;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  opened = await openStages(database);
});
afterAll(async () => {
  await opened.close();
  await database.close();
  await files.drop();
});

const window = { startsAt: Date.parse('2030-01-01T00:00:00Z'), endsAt: Date.parse('2030-03-01T00:00:00Z') };
const all: Listing = { kind: 'window', window };
const newCall = (timezone = 'UTC'): CalendarCall => ({
  signal: new AbortController().signal,
  timezone,
  memory: new Map(),
});

/** Reads page by page to the end. */
async function read({ client, account }: Stage, listing: Listing, call = newCall()) {
  const events: ListedEvent[] = [];
  let page: string | null = null;
  for (let pages = 1; pages < 50; pages++) {
    const listed = await client.list(account, listing, page, call);
    events.push(...listed.events);
    if ('token' in listed.next) return { events, token: listed.next.token, pages };
    page = listed.next.page;
  }
  throw new Error('It never ends.');
}

const iso = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');
const blocking = (events: ListedEvent[]) =>
  events
    .filter(({ blocks }) => blocks)
    .map(({ id, time }) => `${id} ${iso(time!.startsAt)} ${iso(time!.endsAt)}`)
    .sort();
const meeting = { id: 'meeting', start: '2030-01-07T09:00:00Z', end: '2030-01-07T10:00:00Z' };

describe.each(['sandbox', 'google', 'microsoft'] as const)('the calendars of %s', (name) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await opened.stages[name]();
  });

  test('list what blocks and what does not, in pages', async () => {
    await stage.put([
      meeting,
      { id: 'maybe', start: '2030-01-08T09:00:00Z', end: '2030-01-08T10:00:00Z', tentative: true },
      { id: 'free', start: '2030-01-08T11:00:00Z', end: '2030-01-08T12:00:00Z', free: true },
      { id: 'declined', start: '2030-01-08T12:00:00Z', end: '2030-01-08T13:00:00Z', declined: true },
      { id: 'off', start: '2030-01-08T13:00:00Z', end: '2030-01-08T14:00:00Z', cancelled: true },
      { id: 'stand-up', start: '2030-01-09T08:00:00Z', end: '2030-01-09T08:15:00Z', repeat: 3 },
      { id: 'trip', start: '2030-02-01', end: '2030-02-03', allDay: true },
    ]);
    const expected = [
      'maybe 2030-01-08T09:00:00Z 2030-01-08T10:00:00Z',
      'meeting 2030-01-07T09:00:00Z 2030-01-07T10:00:00Z',
      'stand-up_0 2030-01-09T08:00:00Z 2030-01-09T08:15:00Z',
      'stand-up_1 2030-01-10T08:00:00Z 2030-01-10T08:15:00Z',
      'stand-up_2 2030-01-11T08:00:00Z 2030-01-11T08:15:00Z',
      'trip 2030-02-01T00:00:00Z 2030-02-03T00:00:00Z',
    ];
    expect(blocking((await read(stage, all)).events)).toEqual(expected);
    await stage.smallPages();
    const paged = await read(stage, all);
    expect(blocking(paged.events)).toEqual(expected);
    expect(paged.pages).toBeGreaterThan(6);
  });

  test('list what changed since, and nothing else', async () => {
    await stage.put([meeting, { ...meeting, id: 'other' }]);
    const first = await read(stage, all);
    expect((await read(stage, { kind: 'changes', since: first.token })).events).toEqual([]);
    await stage.put([
      { ...meeting, start: '2030-01-07T09:30:00Z' },
      { ...meeting, id: 'new' },
    ]);
    const { events, token } = await read(stage, { kind: 'changes', since: first.token });
    expect(blocking(events)).toEqual([
      'meeting 2030-01-07T09:30:00Z 2030-01-07T10:00:00Z',
      'new 2030-01-07T09:00:00Z 2030-01-07T10:00:00Z',
    ]);
    expect(events.filter(({ time }) => time === null).map(({ id }) => id)).toEqual(['other']);
    expect((await read(stage, { kind: 'changes', since: token })).events).toEqual([]);
  });

  test('say when changes can no longer be listed, and everything can be read again', async () => {
    await stage.put([meeting]);
    const { token } = await read(stage, all);
    await stage.expire();
    await expect(read(stage, { kind: 'changes', since: token })).rejects.toBeInstanceOf(SyncTokenExpired);
    expect(blocking((await read(stage, all)).events)).toHaveLength(1);
  });

  test('write one event for a booking, however often, and change and remove it', async () => {
    const { client, account } = stage;
    const bookingId = randomUUID();
    const first = await client.write(account, entryOf(bookingId), newCall());
    // The answer was lost: the id is unknown.
    const second = await client.write(account, entryOf(bookingId), newCall());
    expect(second).toEqual(first);
    expect(first.meetingUrl).toBeNull();
    expect(await stage.written()).toEqual([{ start: '2030-01-07T09:00:00.000Z', end: '2030-01-07T09:30:00.000Z' }]);
    const moved = entryOf(bookingId, {
      startsAt: Date.parse('2030-01-08T10:00:00Z'),
      endsAt: Date.parse('2030-01-08T10:30:00Z'),
      revision: 1,
      ...first,
    });
    expect((await client.write(account, moved, newCall())).eventId).toBe(first.eventId);
    expect(await stage.written()).toEqual([{ start: '2030-01-08T10:00:00.000Z', end: '2030-01-08T10:30:00.000Z' }]);
    const { events, token } = await read(stage, all);
    expect(events).toMatchObject([{ id: first.eventId, bookingId, blocks: true }]);
    const entry = { bookingId, eventId: first.eventId };
    const { startsAt, endsAt } = moved;
    expect(await client.find(account, entry, newCall())).toEqual({ startsAt, endsAt, revision: 1 });
    await client.remove(account, entry, newCall());
    expect(await client.find(account, entry, newCall())).toBeNull();
    await client.remove(account, entry, newCall());
    expect(await stage.written()).toEqual([]);
    const gone = (await read(stage, { kind: 'changes', since: token })).events;
    expect(gone).toMatchObject([{ id: first.eventId, time: null }]);
    // Another person removed it, and it is written again.
    await client.write(account, { ...moved, eventId: first.eventId }, newCall());
    expect(await stage.written()).toHaveLength(1);
    // It is found without its id, too; and one that was never written is no failure.
    await client.remove(account, { bookingId, eventId: null }, newCall());
    expect(await stage.written()).toEqual([]);
    await client.remove(account, { bookingId, eventId: null }, newCall());
    await client.remove(account, { bookingId: randomUUID(), eventId: null }, newCall());
  });

  test('make a meeting link, once', async () => {
    const { client, account } = stage;
    const entry = entryOf(randomUUID(), { withMeeting: true });
    const { meetingUrl, eventId } = await client.write(account, entry, newCall());
    expect(meetingUrl).toMatch(/^https?:\/\/\S+$/);
    expect(await client.write(account, { ...entry, eventId }, newCall())).toEqual({ meetingUrl, eventId });
  });

  test('distinguish access that was withdrawn, a deleted calendar, and a service that is down', async () => {
    const list = () => read(stage, all);
    await stage.fail();
    await expect(list()).rejects.toMatchObject({ name: 'ProviderFailure', retryable: true });
    stage = await opened.stages[name]();
    await stage.remove();
    await expect(read(stage, all)).rejects.toBeInstanceOf(CalendarGone);
    stage = await opened.stages[name]();
    await stage.revoke();
    const refused = await read(stage, all).catch((error) => error);
    expect([AuthExpired, AccessTokenRefused].some((kind) => refused instanceof kind)).toBe(true);
  });
});

describe.each(['google', 'microsoft'] as const)('%s', (name) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await opened.stages[name]();
  });
  const fake = () => stage.fake!;

  test('is understood when it fails', async () => {
    const error = (status: number, code: string, headers?: Record<string, string>) => ({
      fail: name === 'google' ? googleCalendarError(status, code, headers) : graphError(status, code, headers),
    });
    const failsWith = async (fault: Parameters<ReturnType<typeof fake>['next']>[0], facts: object) => {
      fake().next(fault);
      await expect(read(stage, all)).rejects.toMatchObject({ name: 'ProviderFailure', ...facts });
    };
    await failsWith(error(429, 'x', { 'retry-after': '7' }), { kind: 'rate_limited', retryAfterMs: 7_000 });
    await failsWith(error(403, name === 'google' ? 'rateLimitExceeded' : 'ApplicationThrottled'), {
      kind: 'rate_limited',
    });
    await failsWith(error(403, 'forbidden'), { kind: 'auth', retryable: false });
    await failsWith(error(500, 'x'), { kind: 'unavailable', retryable: true });
    await failsWith(error(504, 'x'), { kind: 'timeout' });
    const usual = stage;
    stage = await opened.stages[name](500);
    await failsWith('silence', { kind: 'timeout' });
    stage = usual;
    await failsWith('lose the answer', { kind: 'connection' });
    await failsWith('page', { kind: 'malformed_answer' });
    await failsWith('truncate', { kind: 'malformed_answer' });
    const message = await read(stage, all).then(
      () => '',
      ({ message }) => message,
    );
    expect(message).toBe('');
  });

  test('writes no second event when an answer is lost', async () => {
    const { client, account } = stage;
    const bookingId = randomUUID();
    const isSearch = name === 'microsoft';
    if (isSearch) {
      // The search before the write is answered.
      const found = { fail: { status: 200, body: { value: [] } } };
      fake().next(found, 'lose the answer');
    } else fake().next('lose the answer');
    await expect(client.write(account, entryOf(bookingId), newCall())).rejects.toMatchObject({ kind: 'connection' });
    expect(await stage.written()).toHaveLength(1);
    await client.write(account, entryOf(bookingId), newCall());
    expect(await stage.written()).toHaveLength(1);
  });

  test('reads whole days in the zone of the calendar, which its own clock does not change', async () => {
    fake().store.timezone = 'America/New_York';
    await stage.put([
      { id: 'day', start: '2030-01-07', end: '2030-01-08', allDay: true, zone: 'Eastern Standard Time' },
    ]);
    expect(blocking((await read(stage, all, newCall('Asia/Tokyo'))).events)).toEqual([
      'day 2030-01-07T05:00:00Z 2030-01-08T05:00:00Z',
    ]);
    // An unknown zone: the host's.
    fake().store.timezone = 'Moon/Sea';
    await stage.put([{ id: 'day', start: '2030-01-07', end: '2030-01-08', allDay: true, zone: 'Custom Zone' }]);
    expect(blocking((await read(stage, all, newCall('Asia/Tokyo'))).events)).toEqual([
      'day 2030-01-06T15:00:00Z 2030-01-07T15:00:00Z',
    ]);
  });

  test('is asked to push, and again before it stops', async () => {
    const { client, account } = stage;
    fake().store.skewMs = 3_600_000;
    const address = { url: 'https://api.example.com/api/calendar-push/x', token: 'cal_1.mac' };
    const channel = await client.watch!(account, address, undefined, newCall());
    expect(channel.endsAt.getTime()).toBeGreaterThan(Date.now() + 5 * 86_400_000);
    const next = await client.watch!(account, address, channel, newCall());
    expect(next.endsAt.getTime()).toBeGreaterThanOrEqual(channel.endsAt.getTime());
  });
});

test('links of Microsoft are followed on its own origin alone', async () => {
  const stage = await opened.stages.microsoft();
  const elsewhere = 'http://127.0.0.1:9/v1.0/me/calendarView/delta?$deltatoken=x';
  const search = { status: 200, body: { value: [], '@odata.nextLink': elsewhere } };
  stage.fake!.next({ fail: search });
  const removal = stage.client.remove(stage.account, { bookingId: randomUUID(), eventId: null }, newCall());
  await expect(removal).rejects.toMatchObject({ kind: 'malformed_answer' });
  for (const link of ['@odata.nextLink', '@odata.deltaLink']) {
    stage.fake!.next({ fail: { status: 200, body: { value: [], [link]: elsewhere } } });
    await expect(read(stage, all)).rejects.toMatchObject({ kind: 'malformed_answer' });
  }
  await expect(read(stage, { kind: 'changes', since: elsewhere })).rejects.toMatchObject({ kind: 'malformed_answer' });
});

test('an occurrence of Microsoft is as free as its series, on whatever page that stands', async () => {
  const stage = await opened.stages.microsoft();
  await stage.put([
    { ...meeting, id: 'series', repeat: 3, free: true },
    { ...meeting, id: 'z' },
  ]);
  await stage.smallPages();
  expect(blocking((await read(stage, all)).events)).toEqual(['z 2030-01-07T09:00:00Z 2030-01-07T10:00:00Z']);
});

test('a page of Outlook is read, however many attendees its events have', async () => {
  const stage = await opened.stages.microsoft();
  stage.fake!.store.perPage = 1_000;
  const attendee = {
    type: 'required',
    status: { response: 'none', time: '0001-01-01T00:00:00Z' },
    emailAddress: { name: 'Grace', address: 'grace@example.com' },
  };
  const written = { attendees: Array.from({ length: 15 }, () => attendee) };
  await stage.put(Array.from({ length: 400 }, (_, number) => ({ ...meeting, id: `meeting-${number}`, written })));
  expect((await read(stage, all)).events).toHaveLength(400);
});

test('the event of a booking in Outlook is found among more copies of it than a page lists', async () => {
  const { client, account, fake, written } = await opened.stages.microsoft();
  const bookingId = randomUUID();
  const own = await client.write(account, entryOf(bookingId), newCall());
  const { event } = fake!.store.events.get(own.eventId)!;
  const copies = Array.from({ length: 250 }, (_, day) => {
    const createdDateTime = new Date(Date.UTC(2026, 5, 1 + day)).toISOString();
    return { ...event, id: `copy-${day}`, written: { ...event.written, createdDateTime } };
  });
  fake!.store.put(...copies);
  // Its id is not known: the answer to its writer was lost.
  expect(await client.write(account, entryOf(bookingId, { title: 'Moved' }), newCall())).toEqual(own);
  expect(await written()).toHaveLength(251);
  const titled = [...fake!.store.events.values()].filter((one) => one.event.written?.subject === 'Moved');
  expect(titled.map((one) => one.event.id)).toEqual([own.eventId]);
  await client.remove(account, { bookingId, eventId: null }, newCall());
  expect([fake!.store.events.has(own.eventId), (await written()).length]).toEqual([false, 250]);
});
