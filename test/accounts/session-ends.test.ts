import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { createLink } from '../../src/accounts/links.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import {
  clientWith,
  consoleHeaders,
  cookieOf,
  newEmail,
  ownOrigin,
  type Person,
  personWith,
  sendForm,
} from './people.ts';

const publicUrl = 'https://atelier.example.com';
const operator = newEmail().replace('person', 'boss');

let product: StartedProduct;
let base: string;
/** A process of the same installation behind TLS. */
let secure: string;

beforeAll(async () => {
  const limits = { ADDRESS_RATE_MAX: '0' };
  const ui = {
    OPERATOR_EMAILS: `${operator.replace('boss', 'Boss')}, second@example.com`,
    TEMPORAL_UI_URL: 'https://temporal.example.com/',
  };
  product = await sharedProduct();
  base = (await product.serve({ ...limits, ...ui })).api;
  secure = (await product.serve({ ...limits, PUBLIC_URL: publicUrl })).api;
});
afterAll(() => product.close());

const within = () => ({ ...product, base, organizationId: product.tenant.organizationId });
const newLink = async (email: string, at = base) => {
  const { token } = await createLink(sqlOn(product.database.pool), email, accountTimes());
  return `${at}/api/auth/link/${token}`;
};
const anotherSessionOf = async ({ email }: Person, cookie = '') =>
  cookieOf(await sendForm(await newLink(email), {}, cookie ? { cookie } : {}));
const isOpen = async (cookie: string, at = base) =>
  (await clientWith(at, { cookie }).get('/api/v1/account')).status === 200;

describe('the cookie', () => {
  test('behind TLS has the prefix that binds it to the host, and only there', async () => {
    const { email, cookie } = await personWith(within(), 'member');
    const entered = await sendForm(await newLink(email, secure), {}, { origin: publicUrl });
    const cookies = entered.headers.getSetCookie().filter((one) => !/^[^=]+=;/.test(one));
    expect(cookies).toHaveLength(1);
    expect(cookies[0]).toMatch(/^__Host-atelier=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const own = cookieOf(entered);
    const value = own.slice(own.indexOf('=') + 1);
    expect(await isOpen(own, secure)).toBe(true);
    // A site that writes cookies of a parent domain cannot write this name; and the other name is not accepted here.
    expect(await isOpen(`atelier=${value}`, secure)).toBe(false);
    expect(await isOpen(cookie, secure)).toBe(false);
    expect(await isOpen(own)).toBe(false);
    expect(await isOpen(`__Host-${cookie}`)).toBe(false);
    expect(await isOpen(`atelier=${value}`)).toBe(true);
  });

  test('is read where a key is accepted by people, and nowhere else', async () => {
    const { cookie } = await personWith(within(), 'owner');
    const headers = consoleHeaders(cookie, product.tenant.organizationId);
    const ask = async (path: string, method = 'GET') =>
      (await fetch(`${base}${path}`, { method, headers: { ...headers, 'content-type': 'application/json' } })).status;
    for (const path of ['/api/v1/workflows', '/v1/workflows', '/api/studio/history']) {
      expect([path, await ask(path)]).toEqual([path, 200]);
    }
    for (const [path, method] of [
      ['/openai/v1/models', 'GET'],
      ['/mcp', 'POST'],
      ['/api/admin/health', 'GET'],
    ] as const) {
      expect([path, await ask(path, method)]).toEqual([path, 401]);
    }
  });

  test('that a stranger has planted begins no session, and none is kept over a sign-in', async () => {
    const [victim, mallory] = [await personWith(within(), 'owner'), await personWith(within(), 'viewer')];
    for (const planted of [mallory.cookie, 'atelier=made-up.c2lnbmF0dXJl', victim.cookie]) {
      const own = await anotherSessionOf(victim, planted);
      expect(own).not.toBe(planted);
      const { body } = await clientWith(base, { cookie: own }).get('/api/v1/account');
      expect(body.data.user.email).toBe(victim.email);
    }
    // The stranger's session is the stranger's still.
    const { body } = await mallory.api.get('/api/v1/account');
    expect(body.data.user.email).toBe(mallory.email);
  });

  test('of which a character was changed is none', async () => {
    const { cookie } = await personWith(within(), 'member');
    for (const at of [10, cookie.indexOf('.') + 3]) {
      const other = cookie[at] === 'a' ? 'b' : 'a';
      expect(await isOpen(cookie.slice(0, at) + other + cookie.slice(at + 1))).toBe(false);
    }
  });

  test('under another name of this machine leads to the public one', async () => {
    const ask = (path: string) =>
      new Promise<string | undefined>((resolve, reject) => {
        const headers = { host: `localhost:${new URL(base).port}` };
        request(`${base}${path}`, { headers }, (answer) => {
          answer.resume();
          resolve(answer.headers.location);
        })
          .on('error', reject)
          .end();
      });
    for (const path of ['/api/auth/sign-in?next=%2Fapp', '/api/auth/passkeys', '/app/runs?env=live']) {
      expect(await ask(path)).toBe(`${ownOrigin}${path}`);
    }
  });
});

describe('a session ends', () => {
  test('after twelve hours without use, and after thirty days', async () => {
    const [idle, old] = [await personWith(within(), 'member'), await personWith(within(), 'member')];
    const change = (set: string, { email }: Person) =>
      product.database.pool.query(
        `update auth."session" set ${set} where "userId" = (select id from auth."user" where email = $1)`,
        [email],
      );
    await change(`"updatedAt" = clock_timestamp() - interval '11 hours 59 minutes'`, idle);
    expect(await isOpen(idle.cookie)).toBe(true);
    // This use is written in the background.
    await until('its use is written', async () => {
      const { rows: used } = await product.database.pool.query(
        `select from auth."session" where "userId" = (select id from auth."user" where email = $1)
            and "updatedAt" > clock_timestamp() - interval '1 hour'`,
        [idle.email],
      );
      return used.length === 1;
    });
    await change(`"updatedAt" = clock_timestamp() - interval '12 hours 1 second'`, idle);
    const { rows } = await product.database.pool.query(
      `select extract(epoch from "expiresAt" - "createdAt")::int as seconds from auth."session"
        where "userId" = (select id from auth."user" where email = $1)`,
      [old.email],
    );
    expect(rows[0].seconds).toBeLessThanOrEqual(30 * 86_400 + 1);
    await change(`"expiresAt" = clock_timestamp() - interval '1 second'`, old);
    expect([await isOpen(idle.cookie), await isOpen(old.cookie)]).toEqual([false, false]);
    // Not by the pages of people either.
    const page = await fetch(`${base}/api/auth/password`, { headers: { cookie: idle.cookie }, redirect: 'manual' });
    expect(page.status).toBe(303);
    const list = await fetch(`${base}/api/auth/passkey/list-user-passkeys`, { headers: { cookie: idle.cookie } });
    expect(list.status).not.toBe(200);
  });

  test('for requests with a header of cookies that is longer than what is read of one', async () => {
    const { cookie } = await personWith(within(), 'member');
    const rename = (cookies: string) =>
      fetch(`${base}/api/auth/update-user`, {
        method: 'POST',
        headers: { cookie: cookies, origin: ownOrigin, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Grace' }),
      });
    const [usual, long] = [await rename(cookie), await rename(`other=${'x'.repeat(8_300)}; ${cookie}`)];
    expect([usual.status, long.status]).toEqual([200, 401]);
  });

  test('by signing out: that one alone', async () => {
    const person = await personWith(within(), 'member');
    const other = await anotherSessionOf(person);
    const headers = { cookie: person.cookie, origin: ownOrigin, 'content-type': 'application/json' };
    const signOut = (origin: string) =>
      fetch(`${base}/api/auth/sign-out`, { method: 'POST', headers: { ...headers, origin }, body: '{}' });
    expect((await signOut('https://evil.example')).status).toBe(403);
    expect(await isOpen(person.cookie)).toBe(true);
    expect((await signOut(ownOrigin)).status).toBe(200);
    expect([await isOpen(person.cookie), await isOpen(other)]).toEqual([false, true]);
  });

  test('with all others of the person, and none of another', async () => {
    const [person, bystander] = [await personWith(within(), 'member'), await personWith(within(), 'member')];
    const others = [await anotherSessionOf(person), await anotherSessionOf(person)];
    const revoked = await person.api.post('/api/v1/account/sessions/revoke');
    expect(revoked).toMatchObject({ status: 200, body: { data: { revoked: 3 } } });
    expect(await Promise.all([person.cookie, ...others, bystander.cookie].map((one) => isOpen(one)))).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect((await person.api.post('/api/v1/account/sessions/revoke')).status).toBe(401);
  });

  test('within a second in what its person reads, when they are removed or lose the role', async () => {
    const owner = await personWith(within(), 'owner');
    const person = await personWith(within(), 'member');
    const steps = [{ id: 'slow', type: 'prompt', prompt: 'sandbox:slow=600' }];
    const { id } = (await owner.api.post('/api/v1/workflows', { name: 'Slow', steps })).body.data;
    const started = await owner.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true });
    const { runId } = started.body.data;
    const headers = consoleHeaders(person.cookie, product.tenant.organizationId);
    const stream = await fetch(`${base}/api/v1/runs/${runId}/events`, { headers });
    expect(stream.status).toBe(200);
    const ended = stream.text();
    const { members } = (await owner.api.get('/api/v1/members?limit=100')).body.data;
    const { id: memberId } = members.find(({ email }: { email: string }) => email === person.email);
    const removedAt = performance.now();
    expect((await owner.api.delete(`/api/v1/members/${memberId}`)).status).toBe(200);
    await ended;
    // Far less than the run takes, on a busy machine too.
    expect(performance.now() - removedAt).toBeLessThan(60_000);
    expect(await isOpen(person.cookie)).toBe(false);
    await owner.api.post(`/api/v1/runs/${runId}/cancel`);
  });
});

describe('an invitation', () => {
  const newInvitation = (email: string, role: 'viewer' | 'owner' = 'viewer') =>
    invite(
      product.database,
      { organizationId: organizationIds.parse(product.tenant.organizationId)!, email, role },
      { actor: 'operator' },
      { times: accountTimes() },
    );
  const accept = (token: string) => sendForm(`${base}/api/auth/invitations/${token}`);

  test('is accepted once, also by many at the same moment', async () => {
    const { token } = await newInvitation(newEmail());
    const answers = await Promise.all(Array.from({ length: 5 }, () => accept(token)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 404, 404, 404, 404]);
    const again = await accept(token);
    expect([again.status, again.headers.getSetCookie()]).toEqual([404, []]);
  });

  test('that is over, was revoked or replaced is none', async () => {
    const admin = await personWith(within(), 'admin');
    const [old, revoked, replaced] = [newEmail(), newEmail(), newEmail()];
    const tokens = [await newInvitation(old), await newInvitation(revoked), await newInvitation(replaced)];
    await product.database.pool.query(
      `update auth."invitation" set "expiresAt" = clock_timestamp() - interval '1 second' where email = $1`,
      [old],
    );
    const { invitations } = (await admin.api.get('/api/v1/invitations?limit=100')).body.data;
    const { id } = invitations.find(({ email }: { email: string }) => email === revoked);
    expect((await admin.api.delete(`/api/v1/invitations/${id}`)).status).toBe(200);
    const later = await newInvitation(replaced);
    for (const { token } of tokens) expect((await accept(token)).status).toBe(404);
    expect((await accept(later.token)).status).toBe(303);
  });

  test('gives the role that it names, whatever the form says', async () => {
    const { token, email } = await newInvitation(newEmail());
    const fields = { role: 'owner', organizationId: product.tenant.organizationId, email: operator };
    const cookie = cookieOf(await sendForm(`${base}/api/auth/invitations/${token}`, fields));
    const { user, organizations } = (await clientWith(base, { cookie }).get('/api/v1/account')).body.data;
    expect(user.email).toBe(email);
    expect(organizations).toMatchObject([{ role: 'viewer' }]);
  });
});

test("Temporal's web UI is named to operators alone", async () => {
  const boss = await personWith(within(), 'viewer', operator);
  const owner = await personWith(within(), 'owner');
  const urlOf = async ({ api }: Person) => (await api.get('/api/v1/account')).body.data.temporalUrl;
  expect(await urlOf(boss)).toBe('https://temporal.example.com/namespaces/default');
  expect(await urlOf(owner)).toBeNull();
});

test('better-auth serves nothing that makes members, organizations or sessions around our rules', async () => {
  const { cookie } = await personWith(within(), 'viewer');
  const paths = [
    'organization/create',
    'organization/invite-member',
    'organization/update-member-role',
    'organization/accept-invitation',
    'organization/list',
    'list-sessions',
    'get-session',
    'update-session',
    'revoke-sessions',
    'set-password',
    'change-email',
    'delete-user',
    'verify-email',
    'request-password-reset',
    'reset-password',
    'atelier/begin-session',
    'sign-in/social',
    'link-social',
    'two-factor/send-otp',
    'error',
    'ok',
  ];
  for (const path of paths) {
    for (const method of ['GET', 'POST']) {
      const headers = { cookie, origin: ownOrigin, 'content-type': 'application/json' };
      const answer = await fetch(`${base}/api/auth/${path}`, {
        method,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
  }
});

describe('what better-auth cannot answer is refused as everywhere else', () => {
  const json = (cookie?: string) => ({
    origin: ownOrigin,
    'content-type': 'application/json',
    ...(cookie !== undefined && { cookie }),
  });

  test('for an id that is none', async () => {
    const entered = await sendForm(await newLink(newEmail(), secure), {}, { origin: publicUrl });
    const headers = { ...json(cookieOf(entered)), origin: publicUrl };
    for (const path of ['delete-passkey', 'update-passkey']) {
      const body = JSON.stringify({ id: "' or 1=1", name: 'Phone' });
      const answer = await fetch(`${secure}/api/auth/passkey/${path}`, { method: 'POST', headers, body });
      expect([path, answer.status]).toEqual([path, 400]);
      expect(await answer.json()).toMatchObject({ success: false, error: { code: 'validation_error' } });
    }
  });
});
