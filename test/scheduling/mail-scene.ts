import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import ICAL from 'ical.js';
import { type ParsedMail, simpleParser } from 'mailparser';
import { bookingIds } from '../../src/scheduling/core/ids.ts';
import { bookingWorkflowId } from '../../src/temporal/contracts/scheduling.ts';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { startMailServer } from '../fakes/mail-server.ts';
import { secrets } from '../operator.ts';
import { openProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { sceneOf } from './scene.ts';

/** What waits 5 seconds waits a tenth of one. */
const timeScale = '0.02';
export const contact = 'office@example.com';

export interface Effect {
  type: string;
  status: string;
  attempts: number;
  lastError: string | null;
  at: string;
}

type Scene = ReturnType<typeof sceneOf>;

export async function effectOf(scene: Scene, id: string, type: string): Promise<Effect> {
  const { effects } = await scene.get(`bookings/${id}`);
  return effects.find((one: Effect) => one.type === type);
}

/** Waits until an effect of a booking has this status. */
export const hasStatus = (scene: Scene, id: string, type: string, status: string): Promise<Effect> =>
  until(`${type} is ${status}`, async () => {
    const found = await effectOf(scene, id, type);
    return found.status === status ? found : undefined;
  });

/** A product whose mails go to a server and a folder of the test's own, with a tenant that has a contact. */
export async function openMailScene() {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-mail-'));
  const [smtp, product] = await Promise.all([startMailServer(), openProduct()]);
  const env = {
    SMTP_URL: smtp.url,
    MAIL_FOLDER: folder,
    CALENDAR_TIME_SCALE: timeScale,
    MAIL_FROM: '"Büro; Atelier" <noreply@example.com>',
    PUBLIC_URL: 'https://book.example.com',
    URL_SIGNING_KEY: secrets.URL_SIGNING_KEY,
  };
  const process = await product.start(['api', 'calendars', 'housekeeping'], env);
  const tenant = await product.createTenant({ plan: 'enterprise' });
  await updateOrganization(product.database, tenant.organizationId, { email: contact });
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  return {
    smtp,
    product,
    process,
    env,
    tenant,
    live: sceneOf(apiClient(process.api, tenant.liveKey)),
    sandboxed: sceneOf(apiClient(process.api, tenant.testKey)),
    /** What arrived for an address, in order. */
    mailsTo: (address: string) => smtp.mails.filter(({ to }) => to === address),
    /** The names of the files that stand for mails. */
    files: () => readdirSync(folder).filter((name) => name.endsWith('.eml')),
    read: (name: string) => simpleParser(readFileSync(join(folder, name))),
    workflowOf: (id: string) => workflow.getHandle(bookingWorkflowId(bookingIds.parse(id)!)),
    async close() {
      await connection.close();
      await Promise.all([product.close(), smtp.close()]);
      rmSync(folder, { recursive: true });
    },
  };
}
export type MailScene = Awaited<ReturnType<typeof openMailScene>>;

/** The invitation of a mail, read by another library than the one that wrote it. */
export function invitationOf({ attachments }: ParsedMail) {
  const file = attachments.find(({ filename }) => filename === 'invite.ics')!;
  const text = file.content.toString('utf8');
  const calendar = new ICAL.Component(ICAL.parse(text));
  const event = calendar.getFirstSubcomponent('vevent')!;
  const value = (name: string) => String(event.getFirstPropertyValue(name));
  const attendee = event.getFirstProperty('attendee')!;
  return {
    method: calendar.getFirstPropertyValue('method'),
    uid: value('uid'),
    sequence: value('sequence'),
    status: value('status'),
    summary: value('summary'),
    start: value('dtstart'),
    end: value('dtend'),
    location: value('location'),
    organizer: value('organizer'),
    description: value('description'),
    organizerName: event.getFirstProperty('organizer')!.getFirstParameter('cn'),
    attendee: [attendee.getFirstValue(), attendee.getFirstParameter('partstat'), attendee.getFirstParameter('rsvp')],
    hasStamp: event.hasProperty('dtstamp'),
    maxLineLength: Math.max(...text.split('\r\n').map((line) => Buffer.byteLength(line))),
  };
}
