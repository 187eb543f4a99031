import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { InvitationMails } from '../../src/accounts/invitation-mails.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { listInvitations } from '../../src/accounts/list-invitations.ts';
import { Sessions } from '../../src/accounts/sessions.ts';
import { Background } from '../../src/platform/concurrency/background.ts';
import { WakeSignal } from '../../src/platform/concurrency/wake-signal.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { type Mailer, openMailer } from '../../src/platform/mail.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type MailServer, startMailServer } from '../fakes/mail-server.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';
import { newEmail } from './people.ts';

const sender = 'noreply@example.com';
const secret = 's'.repeat(32);
const log = openLog('silent', 'test');

let files: TestDatabase;
let database: Database;
let smtp: MailServer;
let mailer: Mailer;
/** Each is of a process. */
let mails: InvitationMails;
let others: InvitationMails;
beforeAll(async () => {
  [files, smtp] = await Promise.all([createTestDatabase(), startMailServer()]);
  database = await openTestDatabase(files.url);
  mailer = openMailer({ smtpUrl: smtp.url, from: `Atelier <${sender}>`, folder: 'unused' });
  const services = { database, mailer, log, secret, baseUrl: 'https://atelier.example.com' };
  mails = new InvitationMails(services);
  others = new InvitationMails(services);
});
afterAll(async () => {
  mailer.close();
  await database.close();
  await Promise.all([files.drop(), smtp.close()]);
});

const newOrganization = async () =>
  organizationIds.parse((await createOrganization(database, { name: 'Ada & Co', plan: 'free' })).id)!;
async function invited(organizationId: string, email = newEmail()) {
  const by = { times: accountTimes(), secret };
  const { id } = await invite(database, { organizationId, email, role: 'member' }, { actor: 'operator' }, by);
  return { id, organizationId, email };
}
const arrived = (email: string) => smtp.mails.filter(({ to }) => to === email).length;
const asked = (email: string) => smtp.asked.filter((to) => to === email).length;
const endLeases = () =>
  database.pool.query(`update auth."invitation" set "leasedUntil" = now() - interval '1 second'
    where "leasedUntil" is not null`);

test('each of many invitations that are made at once is mailed once, whoever else looks for unmailed ones', async () => {
  const organizationId = await newOrganization();
  const made = await Promise.all(Array.from({ length: 60 }, () => invited(organizationId)));
  await Promise.all([
    ...made.map((invitation) => mails.mail(invitation)),
    ...[mails, others, mails, others].map((process) => process.mailDue()),
  ]);
  expect(made.map(({ email }) => asked(email))).toEqual(Array(60).fill(1));
  expect(await mails.mailDue()).toBe(0);
});

test('a mail that waited in its process until another process had sent it is not sent again', async () => {
  const gate = new WakeSignal();
  let isWaiting = false;
  const slow: Mailer = {
    ...mailer,
    send: async (mail, before) => {
      isWaiting = true;
      await gate.wait(60_000);
      return mailer.send(mail, before);
    },
  };
  const slowMails = new InvitationMails({
    database,
    mailer: slow,
    log,
    secret,
    baseUrl: 'https://atelier.example.com',
  });
  const invitation = await invited(await newOrganization());
  const waiting = slowMails.mail(invitation);
  await until('it waits', async () => isWaiting);
  await endLeases();
  expect(await others.mail(invitation)).toBe(true);
  gate.set();
  expect([await waiting, asked(invitation.email)]).toEqual([false, 1]);
});

test('an address that is refused for good is asked once, and others are not kept waiting', async () => {
  const never = await invited(await newOrganization());
  const later = await invited(await newOrganization());
  const fine = await invited(await newOrganization());
  smtp.fault(never.email, 'never');
  smtp.fault(later.email, 'later');
  expect(await mails.mailDue()).toBe(1);
  expect([arrived(fine.email), asked(never.email), asked(later.email)]).toEqual([1, 1, 1]);
  smtp.fault(never.email, 'take');
  smtp.fault(later.email, 'take');
  // Not at once: its lease is not over.
  expect(await mails.mailDue()).toBe(0);
  await endLeases();
  expect(await mails.mailDue()).toBe(1);
  expect([arrived(never.email), arrived(later.email)]).toEqual([0, 1]);
});

test('a server that refuses the sender is asked again', async () => {
  const invitation = await invited(await newOrganization());
  smtp.fault(sender, 'never');
  expect(await mails.mail(invitation)).toBe(false);
  smtp.fault(sender, 'take');
  await endLeases();
  expect(await mails.mailDue()).toBe(1);
  expect(arrived(invitation.email)).toBe(1);
});

test('an organization with many invitations delays none of another', async () => {
  const [large, small] = [await newOrganization(), await newOrganization()];
  const many = await Promise.all(Array.from({ length: 120 }, () => invited(large)));
  const { email } = await invited(small);
  await mails.mailDue();
  expect(arrived(email)).toBe(1);
  expect(many.filter((invitation) => arrived(invitation.email) === 0).length).toBe(21);
});

test('an invitation is listed until a month after its end', async () => {
  const organizationId = await newOrganization();
  const [old, recent] = [await invited(organizationId), await invited(organizationId)];
  const end = (id: string, days: number) =>
    database.pool.query(`update auth."invitation" set "expiresAt" = now() - make_interval(days => $2) where id = $1`, [
      id,
      days,
    ]);
  await end(old.id, 31);
  await end(recent.id, 29);
  await new Sessions(database, new Background(log), accountTimes()).forgetOld(100);
  const { items } = await listInvitations(database, organizationId, { limit: 10, offset: 0 });
  expect(items.map(({ id }) => id)).toEqual([recent.id]);
});
