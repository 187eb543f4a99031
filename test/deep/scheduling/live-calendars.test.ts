import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { calendarIds } from '../../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { apiClient } from '../../api-client.ts';
import type { FakeCalendar } from '../../fakes/calendar-store.ts';
import { googleCalendarError, startFakeGoogleCalendar } from '../../fakes/google-calendar.ts';
import { startFakeMicrosoftCalendar } from '../../fakes/microsoft-calendar.ts';
import { type FakeOAuth, startFakeOAuth } from '../../fakes/oauth/oauth-server.ts';
import { secrets } from '../../operator.ts';
import { type StartedProduct, startProduct } from '../../product.ts';
import { sceneOf } from '../../scheduling/scene.ts';
import { runningServers } from '../../servers.ts';
import { until } from '../../until.ts';

let product: StartedProduct;
let base: string;
let oauth: { google: FakeOAuth; microsoft: FakeOAuth };
let fakes: { google: FakeCalendar; microsoft: FakeCalendar };
let scene: ReturnType<typeof sceneOf>;
const mail = mkdtempSync(join(runningServers().folder, 'mail-'));

beforeAll(async () => {
  const [google, microsoft] = [await startFakeOAuth({ like: 'google' }), await startFakeOAuth({ like: 'microsoft' })];
  oauth = { google, microsoft };
  fakes = { google: await startFakeGoogleCalendar(), microsoft: await startFakeMicrosoftCalendar() };
  for (const name of ['google', 'microsoft'] as const) {
    fakes[name].accepts = (token) => oauth[name].grants.accountOf(token) !== undefined;
  }
  const env = {
    ...secrets,
    // Pushes come to https alone.
    PUBLIC_URL: 'https://atelier.example.com',
    CALENDAR_TIME_SCALE: '0.001',
    CALENDAR_TIMEOUT_SECONDS: '4',
    MAIL_FOLDER: mail,
    GOOGLE_CALENDAR_CLIENT_ID: google.clientId,
    GOOGLE_CALENDAR_CLIENT_SECRET: google.clientSecret,
    GOOGLE_CALENDAR_AUTH_URL: google.authorizeUrl,
    GOOGLE_CALENDAR_TOKEN_URL: google.tokenUrl,
    GOOGLE_CALENDAR_REVOKE_URL: google.revokeUrl,
    GOOGLE_CALENDAR_BASE_URL: fakes.google.origin,
    MICROSOFT_CALENDAR_CLIENT_ID: microsoft.clientId,
    MICROSOFT_CALENDAR_CLIENT_SECRET: microsoft.clientSecret,
    MICROSOFT_CALENDAR_AUTH_URL: microsoft.authorizeUrl,
    MICROSOFT_CALENDAR_TOKEN_URL: microsoft.tokenUrl,
    MICROSOFT_CALENDAR_BASE_URL: `${fakes.microsoft.origin}/v1.0`,
  };
  product = await startProduct(env);
  await product.start(['calendars'], env);
  base = product.process.api;
  scene = sceneOf(apiClient(base, product.tenant.liveKey));
  await product.database.pool.query("update organization set email = 'boss@example.com' where id = $1", [
    organizationIds.parse(product.tenant.organizationId),
  ]);
});
afterAll(async () => {
  await product.close();
  await Promise.all([oauth.google, oauth.microsoft, fakes.google, fakes.microsoft].map((fake) => fake.close()));
});

const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
const at = (time: string) => `${day}T${time}:00Z`;
const utc = (time: string) => `${day}T${time}:00.000Z`;

const find = async (id: string) =>
  (await scene.get('calendars')).calendars.find((calendar: { id: string }) => calendar.id === id);
const becomes = (id: string, status: string, after: string | null = null) =>
  until(`the calendar is ${status}`, async () => {
    const calendar = await find(id);
    return calendar?.status === status && (status !== 'active' || calendar.lastSyncedAt !== after) && calendar;
  });

/** Why syncs of a calendar failed, as Temporal says it. */
async function failedSyncs(calendarId: string): Promise<{ message: string }[]> {
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  const found: { message: string }[] = [];
  const query = `WorkflowType = 'syncCalendar' and ExecutionStatus = 'Failed' and ResourceId = '${calendarId}'`;
  for await (const { workflowId, runId } of workflow.list({ query })) {
    await workflow
      .getHandle(workflowId, runId)
      .result()
      .catch((error: Error) => found.push({ message: String((error.cause as Error | undefined)?.message) }));
  }
  await connection.close();
  return found;
}

async function connect(service: 'google' | 'microsoft', hostId: string): Promise<string> {
  const { authUrl } = (await scene.request('POST', 'calendars/connect', { service, hostId })).body.data;
  const { pathname, search } = await oauth[service].consent(authUrl, { account: 'ada@example.com' });
  expect((await fetch(new URL(pathname + search, base))).status).toBe(200);
  return (await scene.get('calendars')).calendars.find((one: { hostId: string }) => one.hostId === hostId).id;
}

describe.each(['google', 'microsoft'] as const)('%s', (service) => {
  let fake: FakeCalendar;
  let eventType: { id: string; host: string };
  let calendar: string;
  beforeAll(async () => {
    fake = fakes[service];
    const type = service === 'google' ? 'google_meet' : 'microsoft_teams';
    eventType = await scene.offer({ locations: [{ type, autoCreate: true }] }, { hours: ['08:00-18:00'] });
    fake.store.put(
      { id: 'meeting', start: at('09:00'), end: at('10:00') },
      { id: 'series', start: at('12:00'), end: at('13:00'), repeat: 3 },
    );
    fake.store.perPage = 2;
    calendar = await connect(service, eventType.host);
    await becomes(calendar, 'active');
  });
  const isOpen = async (time: string) => (await scene.open(eventType.id, day)).includes(utc(time));
  const sync = async () => {
    const { lastSyncedAt } = await find(calendar);
    expect((await scene.request('POST', `calendars/${calendar}/sync`)).status).toBe(202);
    return becomes(calendar, 'active', lastSyncedAt);
  };
  const lists = () =>
    fake.journal
      .filter(({ method, path }) => method === 'GET' && /\/(events|delta)$/.test(path))
      .map(({ query }) => query);

  test('its first sync is complete, and its next ones read what changed', async () => {
    expect([await isOpen('09:00'), await isOpen('12:00'), await isOpen('10:00')]).toEqual([false, false, true]);
    expect(lists().length).toBeGreaterThan(1);
    const before = lists().length;
    fake.store.remove('meeting');
    fake.store.put({ id: 'more', start: at('10:00'), end: at('11:00') });
    await sync();
    expect([await isOpen('09:00'), await isOpen('10:00')]).toEqual([true, false]);
    // This process is the provider: on a busy machine it answers too late, and is asked again.
    let asked = lists().length;
    await until('a sync asks once', async () => {
      if (asked === before + 1) return true;
      const beforeSync = lists().length;
      await sync();
      asked = lists().length;
      return asked === beforeSync + 1;
    });
    fake.store.forget();
    fake.store.remove('more');
    await sync();
    expect(await isOpen('10:00')).toBe(true);
    // Asked with the token that was forgotten, and then for everything.
    expect(lists().length).toBeGreaterThan(asked + 2);
  });

  test('it is tried again as it asks, and a token that ended is refreshed', async () => {
    const busy =
      service === 'google' ? googleCalendarError(429, 'rateLimitExceeded', { 'retry-after': '3' }) : undefined;
    fake.next({ fail: busy ?? { status: 503, headers: { 'retry-after': '3' }, body: {} } }, 'truncate', 'silence');
    await sync();
    oauth[service].grants.endAccessTokens();
    fake.store.put({ id: 'later', start: at('16:00'), end: at('17:00') });
    await sync();
    expect(await isOpen('16:00')).toBe(false);
  });

  test('the error of an attempt is shown while the next one waits', async () => {
    const failed = { fail: { status: 503, body: {} } };
    // The next attempt is under way, and takes four seconds: on a busy machine it may be over before it is seen.
    const synced = await until('the error of a sync is seen', async () => {
      fake.next(failed, 'silence');
      const { lastSyncedAt } = await find(calendar);
      expect((await scene.request('POST', `calendars/${calendar}/sync`)).status).toBe(202);
      const seen = await until('the error is shown', async () => {
        const { status, lastError, lastSyncedAt: at } = await find(calendar);
        if (status === 'syncing' && lastError?.code === 'overloaded') return 'now';
        return status === 'active' && at !== lastSyncedAt && 'missed';
      });
      const active = await becomes(calendar, 'active', lastSyncedAt);
      return seen === 'now' && active;
    });
    expect(synced).toMatchObject({ lastError: null });
  });

  test('a push starts a sync, with the token that it was given alone', async () => {
    const asked = await until('a channel was asked for', async () =>
      fake.journal.find(({ path }) => /(watch|subscriptions)$/.test(path)),
    );
    const token = asked.body.token ?? asked.body.clientState;
    const push = (with_: string) => {
      const google = { headers: { 'x-goog-channel-token': with_, 'x-goog-resource-state': 'exists' } };
      const body = JSON.stringify({ value: [{ clientState: with_, subscriptionId: 'subscription-1' }] });
      const sent = service === 'google' ? google : { body, headers: { 'content-type': 'application/json' } };
      return fetch(`${base}/api/calendar-push/${service}`, { method: 'POST', ...sent });
    };
    expect((await push(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).status).toBe(401);
    const { lastSyncedAt } = await find(calendar);
    fake.store.put({ id: 'pushed', start: at('17:00'), end: at('18:00') });
    expect((await push(token)).status).toBeLessThan(300);
    await becomes(calendar, 'active', lastSyncedAt);
    await until('it is busy', async () => !(await isOpen('17:00')));
    if (service === 'google') return;
    const echoed = await fetch(`${base}/api/calendar-push/microsoft?validationToken=${encodeURIComponent('<b>&x')}`, {
      method: 'POST',
    });
    expect([echoed.status, echoed.headers.get('content-type'), await echoed.text()]).toEqual([
      200,
      expect.stringMatching('text/plain'),
      '<b>&x',
    ]);
  });

  test('a booking is written once with its link, moved and removed', async () => {
    const own = () => [...fake.store.events.values()].filter(({ event }) => event.written);
    // The write may be preceded by a search.
    fake.next(...(service === 'google' ? [] : [{ fail: { status: 200, body: { value: [] } } }]), 'lose the answer');
    const booking = (await scene.book(eventType.id, at('14:00'))).body.data;
    const shown = await until('it has its link', async () => {
      const found = await scene.get(`bookings/${booking.id}`);
      return found.location.url !== null && found;
    });
    expect(shown.location.url).toMatch(service === 'google' ? /^https:\/\/meet\.google\.com/ : /^https:\/\/teams\./);
    expect(own()).toHaveLength(1);
    await sync();
    const moved = await scene.request('PATCH', `bookings/${booking.id}/reschedule`, { newStart: at('14:30') });
    expect(moved.status).toBe(200);
    await until('it is moved', async () =>
      own().some(({ event }) => Date.parse(event.start) === Date.parse(at('14:30'))),
    );
    await scene.request('DELETE', `bookings/${booking.id}`);
    await until('it is gone', async () => own().length === 0);
  });

  test('copies of our event and its repetitions are events of others, which block', async () => {
    const later = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
    const openOn = async (days: number, time: string) =>
      (await scene.open(eventType.id, later(days))).includes(`${later(days)}T${time}:00.000Z`);
    const attendee = { name: 'Grace', email: 'grace@example.com', phone: '+49 30 1234' };
    const responses = { Company: 'Navy' };
    const made = await scene.book(eventType.id, `${later(5)}T14:00:00Z`, { attendee, responses });
    const booking = made.body.data;
    const own = await until('it is written and recorded', async () => {
      const { effects } = await scene.get(`bookings/${booking.id}`);
      const isDone = effects.find(({ type }: { type: string }) => type === 'calendar_entry').status === 'succeeded';
      return isDone && [...fake.store.events.values()].find(({ event }) => event.written)!.event;
    });
    // The host reads there how the attendee is reached, the answers, and where the booking is changed.
    const text = JSON.stringify(own.written);
    for (const part of ['+49 30 1234', 'grace@example.com', 'Company: Navy']) expect(text).toContain(part);
    const [, hostPage] = /Move or cancel: (https:[^"\\\\]+)/.exec(text)!;
    const { pathname } = new URL(hostPage!);
    expect(booking.confirmationUrl).not.toContain(pathname);
    expect(await (await fetch(new URL(pathname, base))).text()).toContain('+49 30 1234');
    fake.store.put({ ...own, id: 'copy', start: `${later(6)}T11:00:00Z`, end: `${later(6)}T12:00:00Z` });
    await sync();
    expect(await openOn(6, '11:00')).toBe(false);
    const refused = await scene.book(eventType.id, `${later(6)}T11:30:00Z`);
    expect([refused.status, refused.body.error.details.reason]).toEqual([409, 'calendar']);
    // Another person turns our event into a series: its instances block, it is not removed, and the booking stays.
    await scene.request('PATCH', `calendars/${calendar}`, { followChanges: true });
    fake.store.put({ ...own, repeat: 3 });
    await sync();
    expect([await openOn(6, '14:00'), await openOn(7, '14:00'), await openOn(8, '14:00')]).toEqual([
      false,
      false,
      true,
    ]);
    fake.store.forget();
    await sync();
    expect([await openOn(6, '11:00'), await openOn(7, '14:00')]).toEqual([false, false]);
    expect((await scene.get(`bookings/${booking.id}`)).status).toBe('confirmed');
    await scene.request('PATCH', `calendars/${calendar}`, { followChanges: false });
    fake.store.remove(own.id, 'copy');
    fake.store.forget();
    await scene.request('DELETE', `bookings/${booking.id}`);
    await sync();
    expect(await openOn(7, '14:00')).toBe(true);
  });

  test('access that was withdrawn is reported once, and works again after a new connection', async () => {
    const before = (await scene.book(eventType.id, at('14:00'))).body.data;
    await until('it is written', async () => {
      const { effects } = await scene.get(`bookings/${before.id}`);
      return effects.find(({ type }: { type: string }) => type === 'calendar_entry').status === 'succeeded';
    });
    oauth[service].grants.revokeAccount('ada@example.com');
    await scene.request('POST', `calendars/${calendar}/sync`);
    expect(await becomes(calendar, 'auth_expired')).toMatchObject({ lastError: { code: 'auth_expired' } });
    await until('its sync ended as failed, and says why', async () => {
      const found = await failedSyncs(calendarIds.parse(calendar)!);
      return found.some(({ message }) => message.includes('Access to the calendar was withdrawn. Connect it again.'));
    });
    expect(await isOpen('17:00')).toBe(false);
    const outcomeOf = () =>
      readdirSync(mail)
        .filter((file) => file.endsWith('.eml'))
        .map((file) => readFileSync(join(mail, file), 'utf8').replaceAll('=\r\n', ''))
        .filter((text) => text.includes('boss@example.com') && text.includes(calendar));
    await until('the contact has a mail', async () => outcomeOf().length > 0);
    expect(outcomeOf()).toHaveLength(1);
    expect((await scene.request('POST', `calendars/${calendar}/sync`)).status).toBe(409);
    fake.store.remove('pushed');
    // What is booked, moved and cancelled meanwhile reaches the calendar once there is access again.
    const own = () =>
      [...fake.store.events.values()].flatMap(({ event }) => (event.written ? [Date.parse(event.start)] : []));
    const effectIs = (id: string, status: string) =>
      until(`the entry is ${status}`, async () => {
        const { effects } = await scene.get(`bookings/${id}`);
        return effects.find(({ type }: { type: string }) => type === 'calendar_entry').status === status;
      });
    const missed = (await scene.book(eventType.id, at('11:00'))).body.data;
    await effectIs(missed.id, 'skipped');
    await scene.request('PATCH', `bookings/${before.id}/reschedule`, { newStart: at('14:30') });
    await effectIs(before.id, 'skipped');
    expect((await scene.get(`bookings/${missed.id}`)).location.url).toBeNull();
    expect(own()).toEqual([Date.parse(at('14:00'))]);
    expect(await connect(service, eventType.host)).toBe(calendar);
    await becomes(calendar, 'active');
    expect(await isOpen('17:00')).toBe(true);
    await Promise.all([effectIs(missed.id, 'succeeded'), effectIs(before.id, 'succeeded')]);
    expect(own().toSorted()).toEqual([at('11:00'), at('14:30')].map(Date.parse));
    expect((await scene.get(`bookings/${missed.id}`)).location.url).toMatch(/^https:/);
    fake.store.isGone = true;
    await scene.request('POST', `calendars/${calendar}/sync`);
    await becomes(calendar, 'disconnected');
    expect((await scene.request('DELETE', `calendars/${calendar}`)).status).toBe(200);
    expect(await find(calendar)).toBeUndefined();
  });
});
