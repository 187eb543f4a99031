import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRoute, z } from '@hono/zod-openapi';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { e1 } from '../../../api/envelopes.ts';
import { renderError } from '../../../api/errors/render-error.ts';
import { requireKey } from '../../../api/middleware/authenticate.ts';
import { beginRequest } from '../../../api/middleware/begin-request.ts';
import { deprecated } from '../../../api/middleware/deprecated.ts';
import { newRoutes } from '../../../api/new-routes.ts';
import type { Surface } from '../../../api/surface.ts';
import { accountTimes } from '../../../src/accounts/core/times.ts';
import { acceptInvitation, invite } from '../../../src/accounts/invitations.ts';
import { announceDeprecations } from '../../../src/operations/deprecations.ts';
import { noticeExpiringKeys } from '../../../src/operations/key-expiry.ts';
import { noticeTurnedOffWebhooks } from '../../../src/operations/webhook-notices.ts';
import { AddressRanges } from '../../../src/platform/egress/address-ranges.ts';
import { type Mailer, openMailer } from '../../../src/platform/mail.ts';
import { openLog } from '../../../src/platform/observability/log.ts';
import { openServices, readEnv } from '../../../src/services.ts';
import { housekeepingWorkflows } from '../../../src/temporal/contracts/housekeeping.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { createKey, revokeKey } from '../../../src/tenancy/keys.ts';
import { createOrganization, updateOrganization } from '../../../src/tenancy/organizations.ts';
import { type SmtpServer, startSmtpServer } from '../../operations/smtp-server.ts';
import { openProduct, type Product } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { triggerHousekeeping } from '../../temporal-schedules.ts';
import { until } from '../../until.ts';

let product: Product;
let smtp: SmtpServer;
let mailer: Mailer;
beforeAll(async () => {
  product = await openProduct();
  smtp = await startSmtpServer();
  mailer = openMailer({ smtpUrl: smtp.url, from: 'Atelier <noreply@example.com>', folder: 'unused' });
});
beforeEach(() => {
  smtp.refuse(false);
  smtp.mails.length = 0;
});
afterAll(async () => {
  mailer.close();
  await Promise.all([product.close(), smtp.close()]);
});

const days = (count: number) => count * 86_400_000;
const organization = async (email?: string) =>
  (await createOrganization(product.database, { name: 'Ada & Co', plan: 'free', ...(email && { email }) })).id;
const expiringKey = (organizationId: string, expires: Date) =>
  createKey(product.database, { organizationId, environment: 'live', name: 'Ours', expires: expires.toISOString() });
const notice = (now: Date, by = mailer) => noticeExpiringKeys(product.database, by, now);
const recipients = () => smtp.mails.map(({ to }) => to).sort();

test('each of two attempts at one mail notes for itself that it is handed over', async () => {
  const mail = { to: 'twice@example.com', subject: 'x', text: 'x', about: 'twice' };
  const handedOver: number[] = [];
  const attempt = (n: number) => mailer.send(mail, { handOver: async () => void handedOver.push(n) });
  await Promise.all([attempt(1), attempt(2)]);
  expect(handedOver.toSorted()).toEqual([1, 2]);
});

describe('a key that expires soon', () => {
  const expires = new Date(Date.now() + days(30));
  const earlier = (ms: number) => new Date(expires.getTime() - ms);

  test('is announced from seven days before its end, once, to those with an address', async () => {
    const notified = await organization('ada@example.com');
    const { id } = await expiringKey(notified, expires);
    await expiringKey(await organization(), expires);
    const revoked = await expiringKey(await organization('gone@example.com'), expires);
    await revokeKey(product.database, revoked.id);
    await createKey(product.database, { organizationId: notified, environment: 'test' });

    expect(await notice(earlier(days(7) + 1_000))).toEqual({ sent: 0, failed: [] });
    expect(await notice(earlier(days(7)))).toEqual({ sent: 1, failed: [] });
    expect(await notice(earlier(days(7)))).toEqual({ sent: 0, failed: [] });
    expect(await notice(earlier(1_000))).toEqual({ sent: 0, failed: [] });
    expect(recipients()).toEqual(['ada@example.com']);
    const { content } = smtp.mails[0]!;
    expect(content).toMatch(/^From: Atelier <noreply@example.com>\r$/m);
    expect(content).toMatch(/^Subject: An API key of Ada & Co expires soon\r$/m);
    expect(content.replaceAll('=\r\n', '')).toContain(id);
    expect(content.replaceAll('=\r\n', '')).toContain(expires.toISOString());
    expect(content).not.toMatch(/sk_live_[0-9A-Za-z]/);
  });

  test('that is over is not announced', async () => {
    await expiringKey(await organization('late@example.com'), expires);
    expect(await notice(new Date(expires.getTime() + 1))).toEqual({ sent: 0, failed: [] });
  });

  test('is announced when the organization has an address at last', async () => {
    const id = await organization();
    await expiringKey(id, expires);
    await notice(earlier(days(5)));
    expect(recipients()).not.toContain('found@example.com');
    await updateOrganization(product.database, id, { email: 'found@example.com' });
    await notice(earlier(days(4)));
    await notice(earlier(days(3)));
    expect(recipients()).toContain('found@example.com');
    expect(recipients()).toHaveLength(new Set(recipients()).size);
  });

  test('is announced to owners too, to each address once, and to no others', async () => {
    const id = await organization('Boss@example.com');
    for (const [email, role] of [
      ['boss@example.com', 'owner'],
      ['second@example.com', 'owner'],
      ['admin@example.com', 'admin'],
    ] as const) {
      const by = { times: accountTimes() };
      const invited = { organizationId: organizationIds.parse(id)!, email, role };
      const { token } = await invite(product.database, invited, { actor: 'operator' }, by);
      expect(await acceptInvitation(product.database, token)).toBeDefined();
    }
    await expiringKey(id, expires);
    const mine = () => recipients().filter((to) => /^(boss|second|admin)@/i.test(to));
    await notice(earlier(days(6)));
    await notice(earlier(days(5)));
    expect(mine()).toEqual(['Boss@example.com', 'second@example.com']);
  });

  test('of many processes that look at once one sends', async () => {
    const ids = await Promise.all([1, 2, 3].map((n) => organization(`many${n}@example.com`)));
    await Promise.all(ids.map((id) => expiringKey(id, expires)));
    const reports = await Promise.all(Array.from({ length: 8 }, () => notice(earlier(days(2)))));
    expect(reports.reduce((sum, { sent }) => sum + sent, 0)).toBe(3);
    expect(recipients()).toEqual(['many1@example.com', 'many2@example.com', 'many3@example.com']);
  });

  test('is announced later when the mail server is in trouble, and the others are not kept waiting', async () => {
    await expiringKey(await organization('patient@example.com'), expires);
    smtp.refuse(true);
    const { sent, failed } = await notice(earlier(days(1)));
    expect({ sent, failed: failed.length }).toEqual({ sent: 0, failed: 1 });
    smtp.refuse(false);
    expect(await notice(earlier(days(1)))).toEqual({ sent: 1, failed: [] });
    expect(recipients()).toEqual(['patient@example.com']);
  });

  test('is announced a day later to an address that the mail server refuses for good', async () => {
    const id = await organization('never@example.com');
    await expiringKey(id, expires);
    smtp.refuse(['never@example.com']);
    expect(await notice(earlier(days(1)))).toMatchObject({ sent: 0, failed: [{ about: expect.any(String) }] });
    smtp.refuse(false);
    expect(await notice(earlier(days(1)))).toEqual({ sent: 0, failed: [] });
    await product.database.pool.query(
      `update notice set leased_until = leased_until - interval '24 hours' where organization_id = $1`,
      [organizationIds.parse(id)],
    );
    expect(await notice(earlier(1_000))).toEqual({ sent: 1, failed: [] });
  });

  test('an address cannot add headers or recipients', async () => {
    const evil = 'x@example.com,y@example.com';
    const id = await organization('plain@example.com');
    await product.database.pool.query(
      "update organization set email = $1, name = E'A\\r\\nBcc: z@example.com' where id = $2",
      [evil, `${id.slice(4)}`],
    );
    await expiringKey(id, expires);
    await notice(earlier(1_000));
    expect(recipients()).not.toContain('y@example.com');
    expect(smtp.mails.every(({ content }) => !/^Bcc:/im.test(content.split('\r\n\r\n')[0]!))).toBe(true);
  });
});

describe('a webhook that was turned off', () => {
  // Their notices are identified by the second, which is not rounded up.
  const disabledAt = `date_trunc('second', now()) + interval '600 milliseconds' - make_interval(mins => $3::int)`;
  const turnedOff = async (email: string, count: number, minutes: number) =>
    product.database.pool.query(
      `insert into webhook_subscription (id, organization_id, environment, name, url, events, is_active, disabled_reason,
              disabled_at, max_attempts, concurrency, consecutive_failures, created_at, updated_at)
       select uuidv7(), $1, 'live', 'Ours', 'https://example.com/', '["*"]', false, 'failing', ${disabledAt}, 5, 1, 0, now(), now()
         from generate_series(1, $2::int)`,
      [organizationIds.parse(await organization(email)), count, minutes],
    );
  const notices = () => noticeTurnedOffWebhooks(product.database, mailer, new Date());

  test.each([
    ['in trouble', true],
    ['that refuses them for good', ['first@example.com']],
  ])('is announced after a hundred others of which a mail server %s took none', async (_, refusing) => {
    await turnedOff('first@example.com', 100, 2);
    await turnedOff('second@example.com', 1, 1);
    smtp.refuse(refusing);
    expect((await notices()).failed).toHaveLength(100);
    if (refusing === true) smtp.refuse(false);
    expect((await notices()).sent).toBeGreaterThan(0);
    expect(recipients()).toContain('second@example.com');
    await product.database.pool.query('delete from webhook_subscription');
  });
});

test('the schedule of a worker looks for such keys, and mail without a server becomes private files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-mail-'));
  const old = join(folder, 'old.eml');
  writeFileSync(old, 'To: ada@example.com\r\n');
  utimesSync(old, new Date(0), new Date(0));
  const worker = await product.start(['runs'], { MAIL_FOLDER: folder });
  await expiringKey(await organization('file@example.com'), new Date(Date.now() + days(3)));
  const again = await product.start(['runs'], { MAIL_FOLDER: folder });
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const client = new Client({ connection });
  const files = () => readdirSync(folder).filter((name) => name.endsWith('.eml'));
  await triggerHousekeeping(product.taskQueuePrefix);
  await until('the mail is there, and an old one is gone', async () => files().length === 1 && !existsSync(old));
  const taskQueue = `${product.taskQueuePrefix}runs`;
  const args = [{ queue: `${product.taskQueuePrefix}housekeeping`, tickMs: 60_000 }];
  const workflowId = `${taskQueue}-again`;
  await client.workflow.execute(housekeepingWorkflows.housekeeping, { taskQueue, workflowId, args });
  expect(files()).toHaveLength(1);
  const file = join(folder, files()[0]!);
  expect(readFileSync(file, 'utf8')).toMatch(/^To: file@example.com\r$/m);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await connection.close();
  await Promise.all([worker.stop(), again.stop()]);
  rmSync(folder, { recursive: true });
});

describe('a route that will go', () => {
  const sunset = '2027-12-01';

  /** The product's own services, with one route more. */
  async function withDeprecatedRoute() {
    const env = readEnv({ DATABASE_URL: product.databaseUrl, TEMPORAL_ADDRESS: '127.0.0.1:1' });
    const log = openLog('silent', 'test');
    const services = await openServices(env, log, { connection: Connection.lazy() });
    await services.start();
    const app = newRoutes();
    app.onError((error, c) => renderError(c, error));
    const surface = { paths: ['/'], envelope: e1, hasDialects: false, ids: [] } satisfies Surface;
    app.use(beginRequest(services, new AddressRanges([]), () => surface));
    const old = createRoute({
      method: 'get',
      path: '/api/v1/old/{id}',
      deprecated: true,
      middleware: [deprecated(services, { sunset }), requireKey(services)] as const,
      request: { params: z.object({ id: z.string() }) },
      responses: { 200: { description: 'Old.' } },
    });
    app.openapi(old, (c) => {
      if (c.req.param('id') === 'broken') throw new Error('broken');
      return c.body('old', 200);
    });
    const call = (key?: string, id = '1') =>
      app.request(`/api/v1/old/${id}`, { headers: key ? { authorization: `Bearer ${key}` } : {} });
    return { call, close: () => services.close() };
  }

  const keyOf = async (organizationId: string) =>
    (await createKey(product.database, { organizationId, environment: 'test' })).key;
  const uses = async () => (await product.database.pool.query('select * from deprecated_use')).rows;
  const announce = () => announceDeprecations(product.database, mailer);

  test('says so with every answer, and its users are notified once', async () => {
    const { call, close } = await withDeprecatedRoute();
    const silent = await organization();
    const ada = await organization('ada@example.com');
    const bob = await organization('bob@example.com');
    const keys = { ada: await keyOf(ada), silent: await keyOf(silent), bob: await keyOf(bob) };
    for (const [key, id, status] of [
      [keys.ada, '1', 200],
      [keys.ada, '2', 200],
      [keys.ada, 'broken', 500],
      [keys.silent, '1', 200],
      [undefined, '1', 401],
      ['sk_test_nonsense', '1', 401],
    ] as const) {
      const answer = await call(key, id);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('x-api-deprecated')).toBe(sunset);
    }
    await until('both uses are written down', async () => (await uses()).length === 2);
    expect((await uses()).map(({ route }) => route)).toEqual(Array(2).fill('GET /api/v1/old/{id}'));

    expect(await announce()).toEqual({ sent: 1, failed: [], withoutAddress: [silent] });
    expect(recipients()).toEqual(['ada@example.com']);
    expect(smtp.mails[0]!.content).toContain(sunset);
    expect(smtp.mails[0]!.content.replaceAll('=\r\n', '')).toContain('GET /api/v1/old/{id}');
    await call(keys.ada);
    expect(await announce()).toMatchObject({ sent: 0 });
    await call(keys.bob);
    await until('his use is written down', async () => (await uses()).length === 3);
    expect(await announce()).toMatchObject({ sent: 1 });
    expect(recipients()).toEqual(['ada@example.com', 'bob@example.com']);

    await updateOrganization(product.database, silent, { email: 'heard@example.com' });
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['src/cli/main.ts', 'deprecation', 'announce', '--json'],
      { env: { DATABASE_URL: product.databaseUrl, SMTP_URL: smtp.url } },
    );
    expect(JSON.parse(stdout)).toEqual({ sent: 1, withoutAddress: [] });
    expect(recipients()).toContain('heard@example.com');
    await close();
  });
});
