import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { Scope } from '../../../src/platform/database/scope.ts';
import { openLog } from '../../../src/platform/observability/log.ts';
import { noticeExpiredAccess, openCalendarMail } from '../../../src/scheduling/calendars/notice.ts';
import { bookingIds, calendarIds } from '../../../src/scheduling/core/ids.ts';
import { wallTime } from '../../../src/scheduling/core/mail-text.ts';
import { restoreBookingWorkflows } from '../../../src/scheduling/effects/booking-workflows.ts';
import { TemporalClient } from '../../../src/temporal/client.ts';
import { bookingMessages, defaultBookingPolicy } from '../../../src/temporal/contracts/scheduling.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { deleteOrganization } from '../../../src/tenancy/organizations.ts';
import { apiClient } from '../../api-client.ts';
import { addCalendar } from '../../scheduling/calendar-rows.ts';
import {
  contact,
  type Effect,
  effectOf,
  hasStatus,
  invitationOf,
  type MailScene,
  openMailScene,
} from '../../scheduling/mail-scene.ts';
import { sceneOf } from '../../scheduling/scene.ts';
import { runningServers } from '../../servers.ts';
import { until } from '../../until.ts';

let scene: MailScene;
let live: MailScene['live'];
beforeAll(async () => {
  scene = await openMailScene();
  live = scene.live;
});
afterAll(() => scene.close());

const mailsTo = (address: string) => scene.mailsTo(address);
/** The mails of the day that count. */
async function counted(environment: 'live' | 'test'): Promise<number> {
  const { rows } = await scene.product.database.pool.query(
    // The day may end between two counts.
    'select coalesce(sum(mails), 0)::int as mails from mail_day where organization_id = $1 and environment = $2',
    [organizationIds.parse(scene.tenant.organizationId), environment],
  );
  return rows[0].mails;
}
const day = '2040-06-13';
const at = (time: string, on = day) => `${on}T${time}:00Z`;

describe('the mails of a live booking', () => {
  const name = 'Gräce "Hopper"; <b>, 😀';
  const address = 'grace.live@example.com';

  test('report each change once, in the zone of the attendee, with an invitation of the same entry', async () => {
    const locations = [{ type: 'office', address: 'Here 1,\n2nd; floor' }];
    const questions = [
      { label: 'Company', type: 'textarea' },
      { label: 'Seats', type: 'number' },
    ];
    const eventType = await live.offer(
      { name: 'Intro; "call", ünï', locations, questions },
      { timezone: 'Europe/Berlin' },
    );
    const attendee = { name, email: address, phone: '+49 30 1234', timezone: 'America/New_York' };
    await live.request('PATCH', `hosts/${eventType.host}`, { name: 'Ada', email: 'ada@example.com' });
    const responses = { Company: 'Navy\nCancel: https://evil.example.com', Seats: 2 };
    const made = (await live.book(eventType.id, at('10:00'), { attendee, responses })).body.data;
    expect(made.effects).toMatchObject([
      { type: 'attendee_mail', status: 'pending', attempts: 0, lastError: null },
      { type: 'contact_mail' },
      { type: 'calendar_entry' },
      { type: 'reminder' },
      { type: 'reminder' },
    ]);
    await hasStatus(live, made.id, 'attendee_mail', 'succeeded');
    const reason = 'Ill.\r\nCancel: https://evil.example.com\nBcc: x@example.com';
    const path = `bookings/${made.id}`;
    await live.request('PATCH', `${path}/reschedule`, { newStart: at('14:30'), reason });
    await hasStatus(live, made.id, 'attendee_mail', 'succeeded');
    await live.request('DELETE', path, { reason });
    await hasStatus(live, made.id, 'contact_mail', 'succeeded');
    await hasStatus(live, made.id, 'attendee_mail', 'succeeded');

    const [confirmed, moved, cancelled, ...more] = mailsTo(address).map(({ parsed }) => parsed);
    expect(more).toEqual([]);
    const subjects = [confirmed, moved, cancelled].map((mail) => mail!.subject);
    expect(subjects).toEqual([
      'Confirmed: Intro; "call", ünï, Wed 13 Jun 2040, 06:00 America/New_York',
      'Moved: Intro; "call", ünï, Wed 13 Jun 2040, 10:30 America/New_York',
      'Cancelled: Intro; "call", ünï, Wed 13 Jun 2040, 10:30 America/New_York',
    ]);
    for (const mail of [confirmed!, moved!, cancelled!]) {
      expect(mail.from!.value).toEqual([{ address: 'noreply@example.com', name: 'Test via Büro; Atelier' }]);
      expect(mail.replyTo!.value).toEqual([{ address: 'ada@example.com', name: 'Ada' }]);
      expect(mail.messageId).toMatch(/^<[0-9a-f]{32}@example\.com>$/);
      expect([...mail.headers.keys()]).not.toContain('bcc');
    }
    expect(confirmed!.text!.trim().split('\n')).toEqual([
      'The booking is confirmed.',
      '',
      'What:    Intro; "call", ünï',
      'With:    Ada, Test',
      `Who:     ${name}`,
      'When:    Wed 13 Jun 2040, 06:00 - 07:00 America/New_York',
      'Host:    Wed 13 Jun 2040, 12:00 - 13:00 Europe/Berlin',
      'Where:   office: Here 1, 2nd; floor',
      '',
      `Details: ${made.confirmationUrl}`,
      `Move:    ${made.rescheduleUrl}`,
      `Cancel:  ${made.cancelUrl}`,
    ]);
    expect(moved!.text).toContain('\nBefore:  Wed 13 Jun 2040, 06:00 America/New_York\n');
    const folded = 'Reason:  Ill. Cancel: https://evil.example.com Bcc: x@example.com';
    expect(cancelled!.text!.trim().split('\n').at(-1)).toBe(folded);
    expect(cancelled!.text).not.toContain('/b/');

    const same = {
      uid: `${bookingIds.parse(made.id)}@atelier`,
      summary: 'Intro; "call", ünï',
      location: 'Here 1, 2nd; floor',
      organizer: 'mailto:ada@example.com',
      organizerName: 'Test',
      hasStamp: true,
      description: ['With: Ada, Test', 'Where: office: Here 1, 2nd; floor', `Details: ${made.confirmationUrl}`].join(
        '\n',
      ),
      attendee: [`MAILTO:${address}`, 'ACCEPTED', 'FALSE'],
      maxLineLength: expect.any(Number),
    };
    expect(invitationOf(confirmed!).maxLineLength).toBeLessThanOrEqual(75);
    const first = { ...same, start: '2040-06-13T10:00:00Z', end: '2040-06-13T11:00:00Z' };
    const last = { ...same, start: '2040-06-13T14:30:00Z', end: '2040-06-13T15:30:00Z' };
    expect(invitationOf(confirmed!)).toEqual({ ...first, method: 'REQUEST', sequence: '0', status: 'CONFIRMED' });
    expect(invitationOf(moved!)).toEqual({ ...last, method: 'REQUEST', sequence: '1', status: 'CONFIRMED' });
    expect(invitationOf(cancelled!)).toEqual({
      ...last,
      description: 'null',
      method: 'CANCEL',
      sequence: '2',
      status: 'CANCELLED',
    });
    const { raw } = mailsTo(address)[2]!;
    expect(raw).toMatch(/^Content-Type: text\/calendar; charset=utf-8; method=CANCEL\r$/m);
    expect(raw).toMatch(/^Content-Type: multipart\/alternative;/m);

    // The organization learns the same, and where its attendee is found.
    const toContact = mailsTo(contact).filter(({ parsed }) => parsed.subject?.includes('Intro; '));
    expect(toContact.map(({ parsed }) => parsed.subject)).toEqual(subjects);
    const outcomeOf = toContact[0]!.parsed.text!;
    expect(outcomeOf).toContain(`Who:     ${name} <${address}>\nPhone:   +49 30 1234\n`);
    expect(outcomeOf).toContain('\nAnswers:\n  Company: Navy Cancel: https://evil.example.com\n  Seats: 2\n');
    expect(confirmed!.text).not.toMatch(/Navy|1234/);
    expect(toContact[0]!.parsed.replyTo!.value).toEqual([{ address: 'ada@example.com', name: 'Ada' }]);
    // Its links are those of the host, which the attendee does not know.
    const [, hostPage] = /Details: (\S+)/.exec(outcomeOf)!;
    expect(hostPage).toMatch(/^https:\/\/book\.example\.com\/b\/[\w-]{22}$/);
    expect(hostPage).not.toBe(made.confirmationUrl);
    const seen = await fetch(new URL(new URL(hostPage!).pathname, scene.process.api));
    const shown = await seen.text();
    expect([seen.status, shown.includes('+49 30 1234'), shown.includes(address)]).toEqual([200, true, true]);
    const attendees = await fetch(new URL(new URL(made.confirmationUrl).pathname, scene.process.api));
    expect(await attendees.text()).not.toMatch(/1234|Navy/);
    expect(scene.files()).toEqual([]);
  });

  test('leave the attendee out if a change says so, and no other recipient', async () => {
    const eventType = await live.offer({ name: 'Quiet', reminders: [] });
    const attendee = { name: 'Quiet', email: 'quiet@example.com' };
    const { id } = (await live.book(eventType.id, at('09:00'), { attendee })).body.data;
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    const silent = { notifyAttendee: false };
    const moved = await live.request('PATCH', `bookings/${id}/reschedule`, { newStart: at('10:00'), ...silent });
    expect(moved.body.data.effects.map(({ type }: Effect) => type)).toEqual(['contact_mail', 'calendar_entry']);
    await hasStatus(live, id, 'contact_mail', 'succeeded');
    await live.request('DELETE', `bookings/${id}`, silent);
    await hasStatus(live, id, 'contact_mail', 'succeeded');
    expect(mailsTo('quiet@example.com')).toHaveLength(1);
    expect(mailsTo(contact).filter(({ parsed }) => parsed.subject?.includes('Quiet'))).toHaveLength(3);
  });
});

describe('a mail server in trouble', () => {
  let eventType: { id: string; host: string };
  let hour = 0;
  beforeAll(async () => {
    eventType = await live.offer({ name: 'Trouble', reminders: [] });
  });
  const book = async (email: string): Promise<string> => {
    const start = at(`${String(hour++).padStart(2, '0')}:00`);
    const answer = await live.book(eventType.id, start, { attendee: { name: 'Grace', email } });
    return answer.body.data.id;
  };

  test('that refuses for now is tried again until it takes the mail, and the others are not kept waiting', async () => {
    const email = 'later@example.com';
    scene.smtp.fault(email, 'later');
    const id = await book(email);
    await hasStatus(live, id, 'contact_mail', 'succeeded');
    const failing = await until('it is tried again', async () => {
      const found = await effectOf(live, id, 'attendee_mail');
      return found.attempts >= 3 ? found : undefined;
    });
    expect(failing).toMatchObject({ status: 'retrying', lastError: 'The mail server answered 451.' });
    scene.smtp.fault(email, 'take');
    expect((await hasStatus(live, id, 'attendee_mail', 'succeeded')).lastError).toBeNull();
    expect(mailsTo(email)).toHaveLength(1);
  });

  test('that refuses for good is asked again much later, or when an operator wants it', async () => {
    const email = 'never@example.com';
    scene.smtp.fault(email, 'never');
    const before = Date.now();
    const id = await book(email);
    const refused = await hasStatus(live, id, 'attendee_mail', 'retrying');
    expect(refused).toMatchObject({ attempts: 1, lastError: 'The mail server answered 550.' });
    expect(Date.parse(refused.at) - before).toBeGreaterThan(60_000);
    scene.smtp.fault(email, 'take');
    const handle = scene.workflowOf(id);
    // Whatever the web UI sends along is ignored.
    await handle.signal(bookingMessages.retryEffects, { anything: true });
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    expect(mailsTo(email)).toHaveLength(1);
  });

  test('that does not confirm a mail does not get it again by itself, and with the same Message-ID when an operator asks for it', async () => {
    const email = 'unfinished@example.com';
    scene.smtp.fault(email, 'unfinished');
    const id = await book(email);
    const failed = await hasStatus(live, id, 'attendee_mail', 'failed');
    expect(failed).toMatchObject({ attempts: 1, lastError: expect.stringContaining('It may have arrived') });
    const handle = scene.workflowOf(id);
    scene.smtp.fault(email, 'take');
    await handle.signal(bookingMessages.retryEffects);
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    const ids = mailsTo(email).map(({ parsed }) => parsed.messageId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  test('gets only the mail of a move, if the mail before it failed', async () => {
    const email = 'overtaken@example.com';
    scene.smtp.fault(email, 'never');
    const id = await book(email);
    await hasStatus(live, id, 'attendee_mail', 'retrying');
    scene.smtp.fault(email, 'take');
    await live.request('PATCH', `bookings/${id}/reschedule`, { newStart: at('21:00') });
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    expect(mailsTo(email).map(({ parsed }) => parsed.subject!.split(':')[0])).toEqual(['Moved']);
  });

  test('that refuses the contact for good is not asked again about a calendar, and later where it refuses for now', async () => {
    const { database } = scene.product;
    const id = calendarIds.parse(await addCalendar(database, eventType.host))!;
    await database.pool.query(`update calendar set status = 'auth_expired', last_error_at = now() where id = $1`, [id]);
    const from = 'Atelier <noreply@example.com>';
    const calendarMail = openCalendarMail({ smtpUrl: scene.smtp.url, from, folder: 'unused' });
    const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
    const scope = new Scope(database, { organizationId, environment: 'live' }, 'notice');
    const notice = () => noticeExpiredAccess({ database, log: openLog('silent', 'test'), calendarMail }, scope, id);
    // A busy machine may have the product itself tell it after those seconds.
    scene.smtp.fault(contact, 'later');
    await database.pool.query(
      `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
       values (uuidv7(), $1, 'live', 'calendar.notice', $2, 'notice', 0, now(), now() + interval '5 seconds')`,
      [organizationId, id],
    );
    await expect(notice()).rejects.toThrow('The mail server answered 451.');
    // A slower server would have been sent it a second time.
    const { rows } = await database.pool.query(
      `select available_at > created_at + interval '20 seconds' as "isHeld" from outbox where subject_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ isHeld: true }]);
    scene.smtp.fault(contact, 'never');
    await notice();
    scene.smtp.fault(contact, 'take');
    // One that waited for the server while another sent the mail finds nothing to do.
    await database.pool.query('delete from outbox where subject_id = $1', [id]);
    // Mails about bookings that were refused before may arrive meanwhile.
    const announced = () =>
      mailsTo(contact).filter(({ parsed }) => parsed.subject?.includes('has to be connected again')).length;
    const before = announced();
    await notice();
    expect(announced()).toBe(before);
    for (const mailer of Object.values(calendarMail)) mailer.close();
    await database.pool.query('delete from calendar where id = $1', [id]);
  });
});

describe('a reminder', () => {
  test('is sent at its time, is moved with the booking, and is none after a cancellation', async () => {
    const eventType = await live.offer({ name: 'Soon', duration: 1, reminders: [1, 2_880] });
    const soon = Math.ceil((Date.now() + 130_000) / 60_000) * 60_000;
    // Half an hour apart: what is cancelled or moved must not have had its reminder before.
    const book = async (n: number) => {
      const attendee = { name: 'Grace', email: `soon${n}@example.com` };
      const start = new Date(soon + n * 30 * 60_000).toISOString();
      return (await live.book(eventType.id, start, { attendee })).body.data;
    };
    // One is due a minute before the start; the other would have been due before the booking was made.
    const [kept, cancelled, moved] = await Promise.all([book(0), book(1), book(2)]);
    expect(kept.effects.filter(({ type }: Effect) => type === 'reminder')).toHaveLength(1);
    await live.request('DELETE', `bookings/${cancelled.id}`);
    const later = await live.request('PATCH', `bookings/${moved.id}/reschedule`, { newStart: at('12:00') });
    const reminders = later.body.data.effects.filter(({ type }: Effect) => type === 'reminder');
    expect(reminders).toHaveLength(2);
    // Moved the other way it has a reminder of the new time, which says nothing of the old one.
    const attendee = { name: 'Grace', email: 'nearer@example.com' };
    const nearer = (await live.book(eventType.id, at('15:00'), { attendee })).body.data;
    const newStart = new Date(soon + 3 * 60_000).toISOString();
    await live.request('PATCH', `bookings/${nearer.id}/reschedule`, { newStart, reason: 'Sooner.' });
    for (const { id } of [nearer, kept]) {
      await hasStatus(live, id, 'attendee_mail', 'succeeded');
      await hasStatus(live, id, 'reminder', 'succeeded');
    }
    // A busy machine may have a reminder overtake another mail: they are not sent one after the other.
    const sentTo = (address: string) =>
      mailsTo(address)
        .map(({ parsed }) => ({ kind: parsed.subject!.split(':')[0]!, parsed }))
        .toSorted((one, other) => Number(one.kind === 'Reminder') - Number(other.kind === 'Reminder'));
    const ofNearer = sentTo('nearer@example.com');
    expect(ofNearer.map(({ kind }) => kind)).toEqual(['Confirmed', 'Moved', 'Reminder']);
    expect(ofNearer[1]!.parsed.text).toMatch(/Before: .*Sooner\./s);
    expect(ofNearer[2]!.parsed.text).not.toMatch(/Before:|Sooner/);
    expect(ofNearer[2]!.parsed.subject).toContain(wallTime(newStart, 'UTC'));
    const subject = (n: number) => sentTo(`soon${n}@example.com`).map(({ kind }) => kind);
    expect(subject(0)).toEqual(['Confirmed', 'Reminder']);
    expect(sentTo('soon0@example.com')[1]!.parsed.attachments).toEqual([]);
    await hasStatus(live, cancelled.id, 'attendee_mail', 'succeeded');
    await hasStatus(live, moved.id, 'attendee_mail', 'succeeded');
    expect(subject(1)).toEqual(['Confirmed', 'Cancelled']);
    expect(subject(2)).toEqual(['Confirmed', 'Moved']);
  });
});

test('the workflow of a booking is restored, however many effects of a deleted organization are late', async () => {
  const { product, process } = scene;
  const { database, taskQueuePrefix } = product;
  const gone = await product.createTenant();
  const itsScene = sceneOf(apiClient(process.api, gone.liveKey));
  const itsType = await itsScene.offer({ reminders: [] });
  const itsBooking = (await itsScene.book(itsType.id, at('09:00'))).body.data;
  await hasStatus(itsScene, itsBooking.id, 'attendee_mail', 'succeeded');
  await deleteOrganization(database, gone.organizationId);
  await database.pool.query(
    `insert into booking_effect (booking_id, version, kind, organization_id, environment, status, attempts, facts, due_at,
                                 created_at, updated_at)
     select id, 0, 'reminder_' || n, organization_id, environment, 'pending', 0, null, now() - interval '1 day', now(), now()
       from booking, generate_series(1000, 1100) n where id = $1`,
    [bookingIds.parse(itsBooking.id)],
  );
  const eventType = await live.offer({ name: 'Restored', reminders: [] });
  const attendee = { name: 'Grace', email: 'restored@example.com' };
  const { id } = (await live.book(eventType.id, at('09:00'), { attendee })).body.data;
  await hasStatus(live, id, 'contact_mail', 'succeeded');
  await scene.workflowOf(id).terminate();
  await database.pool.query(
    `update booking_effect set status = 'pending', attempts = 0, handed_over_at = null, due_at = now() - interval '6 minutes'
      where booking_id = $1 and kind = 'contact_mail'`,
    [bookingIds.parse(id)],
  );
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const temporal = new TemporalClient({ connection, namespace: 'default', taskQueuePrefix });
  await restoreBookingWorkflows({ database, temporal, bookingPolicy: defaultBookingPolicy })();
  await connection.close();
  await hasStatus(live, id, 'contact_mail', 'succeeded');
  expect(mailsTo(contact).filter(({ parsed }) => parsed.subject?.includes('Restored'))).toHaveLength(2);
});

describe('a booking of a test key', () => {
  test('sends its mails to the folder and never to the server, and a meeting link without a calendar fails', async () => {
    const locations = [
      { type: 'google_meet', autoCreate: true },
      { type: 'web', url: 'javascript:alert(1)' },
    ];
    const eventType = await scene.sandboxed.offer({ name: 'Sandboxed', locations });
    const before = await counted('test');
    const attendee = { name: 'Grace', email: 'grace.test@example.com' };
    const { id, location } = (await scene.sandboxed.book(eventType.id, at('09:00'), { attendee })).body.data;
    expect(location).toEqual({ type: 'google_meet', url: null });
    await hasStatus(scene.sandboxed, id, 'attendee_mail', 'succeeded');
    expect(await hasStatus(scene.sandboxed, id, 'meeting_link', 'failed')).toMatchObject({
      lastError: 'The meeting link could not be created, because no calendar of the host is connected.',
    });
    await hasStatus(scene.sandboxed, id, 'calendar_entry', 'skipped');
    await hasStatus(scene.sandboxed, id, 'contact_mail', 'succeeded');
    const other = { attendee, location: { type: 'web' } };
    const linked = (await scene.sandboxed.book(eventType.id, at('11:00'), other)).body.data;
    await hasStatus(scene.sandboxed, linked.id, 'attendee_mail', 'succeeded');
    expect(await counted('test')).toBe(before + 2);

    const all = await Promise.all(scene.files().map(scene.read));
    const found = all.filter(({ to }) => [to].flat()[0]?.text === 'grace.test@example.com');
    expect(found).toHaveLength(2);
    for (const mail of found) expect(JSON.stringify([mail.text, mail.html])).not.toContain('javascript:');
    const places = found.map((mail) => invitationOf(mail).location).toSorted();
    // Only the type is known of both.
    expect(places).toEqual(['null', 'null']);
    expect(mailsTo('grace.test@example.com')).toEqual([]);

    // An operator sees how it stands, in one line.
    const handle = scene.workflowOf(id);
    const details = await until('it says so', async () => {
      // A query that a busy machine holds up ends with an error of its own.
      const found = await handle
        .query<{ currentDetails: string }>('__temporal_workflow_metadata')
        .catch(() => undefined);
      return found?.currentDetails.includes('failed for good') && found;
    });
    expect(details.currentDetails).toMatch(
      /^\*\*Confirmed\*\* for 2040-06-13T09:00:00Z; meeting_link failed for good \(The meeting link could not be created, .*\); .*\.$/,
    );
    const signals = (
      details as unknown as { definition: { signalDefinitions: { name: string; description: string }[] } }
    ).definition.signalDefinitions;
    expect(signals.find((one) => one.name === 'retryEffects')!.description).toMatch(/^Try again now/);
  });

  test('is written to the calendar of its host once, whose meeting link is in the mail, and is removed from it', async () => {
    const { sandboxed, process } = scene;
    const locations = [{ type: 'google_meet', autoCreate: true }];
    const eventType = await sandboxed.offer({ name: 'Connected', locations, reminders: [] });
    const asked = await sandboxed.request('POST', 'calendars/connect', { service: 'google', hostId: eventType.host });
    // Where PUBLIC_URL leads in an installation.
    let next: string | null = asked.body.data.authUrl;
    while (next) {
      const { pathname, search } = new URL(next, process.api);
      next = (await fetch(process.api + pathname + search, { redirect: 'manual' })).headers.get('location');
    }
    const [calendar] = (await sandboxed.get('calendars')).calendars;
    const attendee = { name: 'Grace', email: 'grace.connected@example.com' };
    const { id } = (await sandboxed.book(eventType.id, at('09:00'), { attendee })).body.data;
    await hasStatus(sandboxed, id, 'meeting_link', 'succeeded');
    await hasStatus(sandboxed, id, 'calendar_entry', 'succeeded');
    await hasStatus(sandboxed, id, 'attendee_mail', 'succeeded');
    const { url } = (await sandboxed.get(`bookings/${id}`)).location;
    expect(url).toMatch(/^https:\/\/book\.example\.com\/sandbox\/meet\/.{12}$/);
    const written = async () => (await sandboxed.get(`calendars/${calendar.id}/sandbox`)).written;
    const meeting = await fetch(process.api + new URL(url).pathname);
    expect([meeting.status, meeting.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8']);
    expect(await meeting.text()).toContain('meeting of the sandbox');
    expect((await fetch(`${process.api}/sandbox/meet/short`)).status).toBe(404);
    expect(await written()).toMatchObject([{ bookingId: id, start: expect.stringContaining('T09:00') }]);

    const path = `bookings/${id}`;
    const moved = await sandboxed.request('PATCH', `${path}/reschedule`, { newStart: at('11:00') });
    // It has its link.
    expect(moved.body.data.effects.map(({ type }: Effect) => type)).not.toContain('meeting_link');
    await hasStatus(sandboxed, id, 'calendar_entry', 'succeeded');
    expect(await written()).toMatchObject([{ bookingId: id, start: expect.stringContaining('T11:00') }]);
    await sandboxed.request('DELETE', path);
    await hasStatus(sandboxed, id, 'calendar_entry', 'succeeded');
    expect(await written()).toEqual([]);

    const all = await Promise.all(scene.files().map(scene.read));
    const mails = all.filter(({ to }) => [to].flat()[0]?.text === attendee.email);
    expect(mails.length).toBeGreaterThanOrEqual(2);
    for (const mail of mails) expect(mail.text).toContain(`Where:   Google Meet: ${url}\n`);
  });
});

test('mails to attendees count in the day; what keeps failing unexpectedly has failed, until an operator asks again', async () => {
  const { pool } = scene.product.database;
  const before = await counted('live');
  const eventType = await live.offer({ reminders: [60] });
  const attendee = { name: 'Grace', email: 'grace.unexpected@example.com' };
  const { id } = (await live.book(eventType.id, at('10:00'), { attendee })).body.data;
  await hasStatus(live, id, 'attendee_mail', 'succeeded');
  await hasStatus(live, id, 'contact_mail', 'succeeded');
  expect(await counted('live')).toBe(before + 1);

  const booking = bookingIds.parse(id);
  const zone = async (timezone: string) =>
    pool.query('update booking set attendee_timezone = $2 where id = $1', [booking, timezone]);
  await zone('No/Where');
  await pool.query(`update booking_effect set due_at = now() where booking_id = $1 and status = 'pending'`, [booking]);
  await scene.workflowOf(id).signal(bookingMessages.rescheduled);
  const failed = await until(
    'the reminder has failed',
    async () => {
      const effect = await effectOf(live, id, 'reminder');
      return effect.status === 'failed' && effect;
    },
    120_000,
  );
  expect(failed.lastError).toBe('An unexpected error. An operator can try it again.');
  await expect(scene.workflowOf(id).result()).rejects.toThrow();

  await zone('UTC');
  const path = `bookings/${id}`;
  await live.request('PATCH', `${path}/reschedule`, { newStart: at('14:00') });
  await hasStatus(live, id, 'attendee_mail', 'succeeded');
}, 240_000);
