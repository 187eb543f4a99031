import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { bookingIds } from '../../src/scheduling/core/ids.ts';
import { restoreBookingWorkflows } from '../../src/scheduling/effects/booking-workflows.ts';
import { TemporalClient } from '../../src/temporal/client.ts';
import { bookingMessages, bookingWorkflowId, defaultBookingPolicy } from '../../src/temporal/contracts/scheduling.ts';
import { apiClient } from '../api-client.ts';
import { type MailServer, startMailServer } from '../fakes/mail-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { effectOf, hasStatus } from '../scheduling/mail-scene.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let product: Product;
let smtp: MailServer;
let tenant: Tenant;
beforeAll(async () => {
  smtp = await startMailServer();
  product = await openProduct({ entryPoint: soonNoticed, env: { ...secrets, SMTP_URL: smtp.url } });
  tenant = await product.createTenant({ plan: 'enterprise' });
});
afterAll(async () => {
  await product.close();
  await smtp.close();
});

const sceneAt = (api: string) => sceneOf(apiClient(api, tenant.liveKey));
const subjects = (email: string) =>
  smtp.mails.filter(({ to }) => to === email).map(({ parsed }) => parsed.subject!.split(':')[0]);

test('processes that die around the commit and around a mail leave no booking without its mail, and none with two', async () => {
  const [atCommit, atStart] = await Promise.all([product.start(['api']), product.start(['api'])]);
  const eventType = await sceneAt(atCommit.api).offer({ reminders: [] });
  await Promise.all([atCommit.arm('booking.committed'), atStart.arm('booking.followed')]);

  const book = (api: string, hour: number) => {
    const attendee = { name: 'Grace', email: `grace${hour}@example.com` };
    const start = `2040-06-13T${String(hour).padStart(2, '0')}:00:00Z`;
    return sceneAt(api).book(eventType.id, start, { attendee }, { 'idempotency-key': `booking ${hour}` });
  };
  // They die when they have answered, or just before.
  await Promise.all([book(atCommit.api, 1), book(atStart.api, 2)].map((asked) => asked.catch(() => {})));
  await Promise.all([atCommit.ended, atStart.ended]);

  // Three workers, each of which dies with the first mail that it has in its hands.
  const points = ['booking.mail_begun', 'booking.mail_sent', 'booking.mail_recorded'];
  const survivor = await product.start(['api', 'housekeeping']);
  const workers = await Promise.all(points.map(() => product.start(['calendars'])));
  await Promise.all(workers.map((worker, n) => worker.arm(points[n]!)));
  let dead = 0;
  for (const { ended } of workers) void ended.then(() => dead++);
  const scene = sceneAt(survivor.api);
  const hours = [1, 2, 3, 4, 5, 6, 7, 8];
  const ids = new Map<number, string>();
  const effectAt = (hour: number, type: string) => effectOf(scene, ids.get(hour)!, type);
  const isOver = async (hour: number) =>
    !['pending', 'retrying'].includes((await effectAt(hour, 'attendee_mail')).status);
  for (const hour of hours) {
    const answer = await book(survivor.api, hour);
    expect(answer.status).toBe(201);
    ids.set(hour, answer.body.data.id);
    // One at a time: what else a worker has in its hands as it dies is not known to have arrived either.
    const before = dead;
    if (before < workers.length) await until('a worker dies of it', async () => dead > before || isOver(hour));
  }
  await Promise.all(workers.map(({ ended }) => ended));
  // A booking that is moved while no worker runs is announced in both states.
  await scene.request('PATCH', `bookings/${ids.get(8)}/reschedule`, { newStart: '2040-06-13T20:00:00Z' });
  const last = await product.start(['calendars']);

  await until('every mail is over', async () => (await Promise.all(hours.map(isOver))).every(Boolean));
  const mails = Object.fromEntries(hours.map((hour) => [hour, subjects(`grace${hour}@example.com`)]));
  expect(mails).toEqual(
    Object.fromEntries(hours.map((hour) => [hour, ['Confirmed', ...(hour === 8 ? ['Moved'] : [])]])),
  );
  expect((await scene.get('bookings')).pagination.total).toBe(hours.length);

  // The mail that was taken as its worker died is not known to have arrived; all others are.
  const statuses = await Promise.all(hours.map(async (hour) => (await effectAt(hour, 'attendee_mail')).status));
  expect(statuses.filter((status) => status === 'failed').length).toBeLessThanOrEqual(1);
  expect(statuses.every((status) => ['succeeded', 'failed'].includes(status))).toBe(true);

  // A workflow that an operator terminated is started again when something of its booking is long due.
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { taskQueuePrefix, database } = product;
  const temporal = new TemporalClient({ connection, namespace: 'default', taskQueuePrefix });
  const restore = restoreBookingWorkflows({ database, temporal, bookingPolicy: defaultBookingPolicy });
  const terminated = bookingIds.parse(ids.get(1)!)!;
  const workflow = temporal.client.workflow.getHandle(bookingWorkflowId(terminated));
  const { runId } = await workflow.describe();
  await workflow.terminate();
  await product.database.pool.query(
    `update booking_effect set status = 'pending', attempts = 0, handed_over_at = null, due_at = now() - interval '6 minutes'
      where booking_id = $1 and kind = 'contact_mail'`,
    [terminated],
  );
  // The sweep of the process that lives may come first.
  expect(await restore()).toBeLessThanOrEqual(1);
  expect((await workflow.describe()).runId).not.toBe(runId);
  // Its organization has named no contact.
  await until('it is performed', async () => (await effectAt(1, 'contact_mail')).status === 'skipped');
  expect(subjects('grace1@example.com')).toEqual(['Confirmed']);
  await connection.close();
  await last.kill();
});

test('a worker that dies with a mail that an operator wanted tried again does not have it sent twice', async () => {
  const email = 'again@example.com';
  smtp.fault(email, 'never');
  const [{ api }, worker] = await Promise.all([product.start(['api']), product.start(['calendars'])]);
  const scene = sceneAt(api);
  const eventType = await scene.offer({ reminders: [] });
  const booked = await scene.book(eventType.id, '2040-06-14T10:00:00Z', { attendee: { name: 'Grace', email } });
  const { id } = booked.body.data;
  await hasStatus(scene, id, 'attendee_mail', 'retrying');
  smtp.fault(email, 'take');
  await worker.arm('booking.mail_sent');
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { workflow } = new Client({ connection });
  await workflow.getHandle(bookingWorkflowId(bookingIds.parse(id)!)).signal(bookingMessages.retryEffects);
  await worker.ended;
  await product.start(['calendars']);
  const mail = await until('it is over', async () => {
    const found = await effectOf(scene, id, 'attendee_mail');
    return found.status === 'retrying' ? undefined : found;
  });
  expect(mail).toMatchObject({ status: 'failed', lastError: expect.stringContaining('It may have arrived') });
  expect(subjects(email)).toEqual(['Confirmed']);
  await connection.close();
});
