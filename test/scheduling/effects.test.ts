import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import ICAL from 'ical.js';
import { type ParsedMail, simpleParser } from 'mailparser';
import { bookingIds } from '../../src/scheduling/core/ids.ts';
import { bookingMessages, bookingWorkflowId } from '../../src/temporal/contracts/scheduling.ts';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { type MailServer, startMailServer } from '../fakes/mail-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { sceneOf } from './scene.ts';

/** What waits 5 seconds waits a tenth of one. */
const timeScale = '0.02';
const contact = 'office@example.com';

let product: Product;
let smtp: MailServer;
let folder: string;
let live: ReturnType<typeof sceneOf>;
let sandboxed: ReturnType<typeof sceneOf>;
let workflows: Client['workflow'];
let connection: Connection;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-mail-'));
  [smtp, product] = await Promise.all([startMailServer(), openProduct()]);
  const env = {
    ...{
      SMTP_URL: smtp.url,
      MAIL_FOLDER: folder,
      CALENDAR_TIME_SCALE: timeScale,
      PUBLIC_URL: 'https://book.example.com',
    },
    ...{ MAIL_FROM: '"Büro; Atelier" <noreply@example.com>', URL_SIGNING_KEY: secrets.URL_SIGNING_KEY },
  };
  const { api } = await product.start(['api', 'calendars', 'housekeeping'], env);
  const tenant = await product.createTenant({ plan: 'enterprise' });
  await updateOrganization(product.database, tenant.organizationId, { email: contact });
  live = sceneOf(apiClient(api, tenant.liveKey));
  sandboxed = sceneOf(apiClient(api, tenant.testKey));
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  workflows = new Client({ connection }).workflow;
});
afterAll(async () => {
  await connection.close();
  await Promise.all([product.close(), smtp.close()]);
  rmSync(folder, { recursive: true });
});

const day = '2040-06-13';
const at = (time: string, on = day) => `${on}T${time}:00Z`;

interface Effect {
  type: string;
  status: string;
  attempts: number;
  lastError: string | null;
  at: string;
}
const effectsOf = async (scene: typeof live, id: string): Promise<Effect[]> =>
  (await scene.get(`bookings/${id}`)).effects;
const effectOf = async (scene: typeof live, id: string, type: string) =>
  (await effectsOf(scene, id)).find((one) => one.type === type)!;
const hasStatus = (scene: typeof live, id: string, type: string, status: string) =>
  until(`${type} is ${status}`, async () => {
    const found = await effectOf(scene, id, type);
    return found.status === status ? found : undefined;
  });

const mailsTo = (address: string) => smtp.mails.filter(({ to }) => to === address);
const files = (): Promise<ParsedMail[]> =>
  Promise.all(
    readdirSync(folder)
      .filter((name) => name.endsWith('.eml'))
      .map((name) => simpleParser(readFileSync(join(folder, name)))),
  );

/** The invitation of a mail, read by another library than the one that wrote it. */
function invitationOf({ attachments }: ParsedMail) {
  const file = attachments.find(({ filename }) => filename === 'invite.ics')!;
  const text = file.content.toString('utf8');
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  const calendar = new ICAL.Component(ICAL.parse(text));
  const event = calendar.getFirstSubcomponent('vevent')!;
  const value = (name: string) => String(event.getFirstPropertyValue(name));
  const attendee = event.getFirstProperty('attendee')!;
  return {
    method: calendar.getFirstPropertyValue('method'),
    ...{ uid: value('uid'), sequence: value('sequence'), status: value('status'), summary: value('summary') },
    ...{ start: value('dtstart'), end: value('dtend'), location: value('location'), organizer: value('organizer') },
    organizerName: event.getFirstProperty('organizer')!.getFirstParameter('cn'),
    attendee: [attendee.getFirstValue(), attendee.getFirstParameter('partstat'), attendee.getFirstParameter('rsvp')],
    hasStamp: event.hasProperty('dtstamp'),
  };
}

describe('the mails of a live booking', () => {
  const name = 'Gräce "Hopper"; <b>, 😀';
  const address = 'grace.live@example.com';

  test('tell of each change once, in the zone of the attendee, with an invitation of the same entry', async () => {
    const locations = [{ type: 'office', address: 'Here 1,\n2nd; floor' }];
    const eventType = await live.offer({ name: 'Intro; "call", ünï', locations }, { timezone: 'Europe/Berlin' });
    const attendee = { name, email: address, timezone: 'America/New_York' };
    const made = (await live.book(eventType.id, at('10:00'), { attendee })).body.data;
    expect(made.effects).toMatchObject([
      { type: 'attendee_mail', status: 'pending', attempts: 0, lastError: null },
      ...[{ type: 'contact_mail' }, { type: 'calendar_entry' }, { type: 'reminder' }, { type: 'reminder' }],
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
      expect(mail.from!.value).toEqual([{ address: 'noreply@example.com', name: 'Büro; Atelier' }]);
      expect([...mail.headers.keys()]).not.toContain('bcc');
    }
    expect(confirmed!.text!.trim().split('\n')).toEqual([
      'The booking is confirmed.',
      '',
      'What:    Intro; "call", ünï',
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
      ...{ uid: `${made.id}@book.example.com`, summary: 'Intro; "call", ünï', location: 'office: Here 1, 2nd; floor' },
      ...{ organizer: 'mailto:noreply@example.com', organizerName: 'Büro; Atelier', hasStamp: true },
      attendee: [`MAILTO:${address}`, 'ACCEPTED', 'FALSE'],
    };
    const first = { ...same, start: '2040-06-13T10:00:00Z', end: '2040-06-13T11:00:00Z' };
    const last = { ...same, start: '2040-06-13T14:30:00Z', end: '2040-06-13T15:30:00Z' };
    expect(invitationOf(confirmed!)).toEqual({ ...first, method: 'REQUEST', sequence: '0', status: 'CONFIRMED' });
    expect(invitationOf(moved!)).toEqual({ ...last, method: 'REQUEST', sequence: '1', status: 'CONFIRMED' });
    expect(invitationOf(cancelled!)).toEqual({ ...last, method: 'CANCEL', sequence: '2', status: 'CANCELLED' });
    const { raw } = mailsTo(address)[2]!;
    expect(raw).toMatch(/^Content-Type: text\/calendar; charset=utf-8; method=CANCEL\r$/m);
    expect(raw).toMatch(/^Content-Type: multipart\/alternative;/m);

    // The organization learns the same, and where its attendee is found.
    const toContact = mailsTo(contact).filter(({ parsed }) => parsed.subject?.includes('Intro; '));
    expect(toContact.map(({ parsed }) => parsed.subject)).toEqual(subjects);
    expect(toContact[0]!.parsed.text).toContain(`Who:     ${name} <${address}>`);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('leave the attendee out where a change says so, and nobody else', async () => {
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
  let eventType: { id: string };
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
    smtp.fault(email, 'later');
    const id = await book(email);
    await hasStatus(live, id, 'contact_mail', 'succeeded');
    const failing = await until('it is tried again', async () => {
      const found = await effectOf(live, id, 'attendee_mail');
      return found.attempts >= 3 ? found : undefined;
    });
    expect(failing).toMatchObject({ status: 'retrying', lastError: 'The mail server answered 451.' });
    smtp.fault(email, 'take');
    expect((await hasStatus(live, id, 'attendee_mail', 'succeeded')).lastError).toBeNull();
    expect(mailsTo(email)).toHaveLength(1);
  });

  test('that refuses for good is asked again much later, or when an operator wants it', async () => {
    const email = 'never@example.com';
    smtp.fault(email, 'never');
    const id = await book(email);
    const refused = await hasStatus(live, id, 'attendee_mail', 'retrying');
    expect(refused).toMatchObject({ attempts: 1, lastError: 'The mail server answered 550.' });
    expect(Date.parse(refused.at) - Date.now()).toBeGreaterThan(60_000);
    smtp.fault(email, 'take');
    const handle = workflows.getHandle(bookingWorkflowId(bookingIds.parse(id)!));
    // Whatever the web UI sends along is ignored.
    await handle.signal(bookingMessages.retryEffects, { anything: true });
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    expect(mailsTo(email)).toHaveLength(1);
  });

  test('that does not confirm a mail does not get it again by itself, and with the same Message-ID when told to', async () => {
    const email = 'unfinished@example.com';
    smtp.fault(email, 'unfinished');
    const id = await book(email);
    const failed = await hasStatus(live, id, 'attendee_mail', 'failed');
    expect(failed).toMatchObject({ attempts: 1, lastError: expect.stringContaining('It may have arrived') });
    const handle = workflows.getHandle(bookingWorkflowId(bookingIds.parse(id)!));
    smtp.fault(email, 'take');
    await handle.signal(bookingMessages.retryEffects);
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    const ids = mailsTo(email).map(({ parsed }) => parsed.messageId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  test('is told of a move by the mail of the move alone, where the mail before it failed', async () => {
    const email = 'overtaken@example.com';
    smtp.fault(email, 'never');
    const id = await book(email);
    await hasStatus(live, id, 'attendee_mail', 'retrying');
    smtp.fault(email, 'take');
    await live.request('PATCH', `bookings/${id}/reschedule`, { newStart: at('21:00') });
    await hasStatus(live, id, 'attendee_mail', 'succeeded');
    expect(mailsTo(email).map(({ parsed }) => parsed.subject!.split(':')[0])).toEqual(['Moved']);
  });
});

describe('a reminder', () => {
  test('is sent at its time, is moved with the booking, and is none after a cancellation', async () => {
    const eventType = await live.offer({ name: 'Soon', duration: 1, reminders: [1, 2_880] });
    const soon = Math.ceil((Date.now() + 130_000) / 60_000) * 60_000;
    const book = async (n: number) => {
      const attendee = { name: 'Grace', email: `soon${n}@example.com` };
      const start = new Date(soon + n * 60_000).toISOString();
      return (await live.book(eventType.id, start, { attendee })).body.data;
    };
    // One is due a minute before the start; the other would have been due before the booking was made.
    const [kept, cancelled, moved] = await Promise.all([book(0), book(1), book(2)]);
    expect(kept.effects.filter(({ type }: Effect) => type === 'reminder')).toHaveLength(1);
    await live.request('DELETE', `bookings/${cancelled.id}`);
    const later = await live.request('PATCH', `bookings/${moved.id}/reschedule`, { newStart: at('12:00') });
    const reminders = later.body.data.effects.filter(({ type }: Effect) => type === 'reminder');
    expect(reminders).toHaveLength(2);
    await hasStatus(live, kept.id, 'reminder', 'succeeded');
    const subject = (n: number) => mailsTo(`soon${n}@example.com`).map(({ parsed }) => parsed.subject!.split(':')[0]);
    expect(subject(0)).toEqual(['Confirmed', 'Reminder']);
    expect(mailsTo('soon0@example.com')[1]!.parsed.attachments).toEqual([]);
    await hasStatus(live, cancelled.id, 'attendee_mail', 'succeeded');
    await hasStatus(live, moved.id, 'attendee_mail', 'succeeded');
    expect(subject(1)).toEqual(['Confirmed', 'Cancelled']);
    expect(subject(2)).toEqual(['Confirmed', 'Moved']);
  });
});

describe('a booking of a test key', () => {
  test('sends its mails to the folder and never to the server, and a meeting link without a calendar fails', async () => {
    const locations = [
      { type: 'google_meet', autoCreate: true },
      { type: 'web', url: 'javascript:alert(1)' },
    ];
    const eventType = await sandboxed.offer({ name: 'Sandboxed', locations });
    const attendee = { name: 'Grace', email: 'grace.test@example.com' };
    const { id, location } = (await sandboxed.book(eventType.id, at('09:00'), { attendee })).body.data;
    expect(location).toEqual({ type: 'google_meet', url: null });
    await hasStatus(sandboxed, id, 'attendee_mail', 'succeeded');
    expect(await hasStatus(sandboxed, id, 'meeting_link', 'failed')).toMatchObject({
      lastError: 'No calendar of the host is connected, so that nothing could make the meeting link.',
    });
    await hasStatus(sandboxed, id, 'calendar_entry', 'skipped');
    await hasStatus(sandboxed, id, 'contact_mail', 'succeeded');
    const other = { attendee, location: { type: 'web' } };
    const linked = (await sandboxed.book(eventType.id, at('11:00'), other)).body.data;
    await hasStatus(sandboxed, linked.id, 'attendee_mail', 'succeeded');

    const found = (await files()).filter(({ to }) => [to].flat()[0]?.text === 'grace.test@example.com');
    expect(found).toHaveLength(2);
    for (const mail of found) expect(JSON.stringify([mail.text, mail.html])).not.toContain('javascript:');
    const places = found.map((mail) => invitationOf(mail).location).toSorted();
    expect(places).toEqual(['google_meet', 'web']);
    expect(mailsTo('grace.test@example.com')).toEqual([]);

    // An operator sees how it stands, in one line.
    const handle = workflows.getHandle(bookingWorkflowId(bookingIds.parse(id)!));
    const details = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(details.currentDetails).toMatch(
      /^\*\*Confirmed\*\* for 2040-06-13T09:00:00Z; some effects failed for good; .*\.$/,
    );
    const signals = (
      details as unknown as { definition: { signalDefinitions: { name: string; description: string }[] } }
    ).definition.signalDefinitions;
    expect(signals.find((one) => one.name === 'retryEffects')!.description).toMatch(/^Try again now/);
  });
});
