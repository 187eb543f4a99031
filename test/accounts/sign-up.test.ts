import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { createLink } from '../../src/accounts/links.ts';
import { userOfIdentity } from '../../src/accounts/oidc-identities.ts';
import { forgetUnproved } from '../../src/accounts/people.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { newId } from '../../src/platform/ids.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { clientWith, consoleHeaders, cookieOf, newEmail, ownOrigin, personWith, sendForm } from './people.ts';

let product: StartedProduct;
let base: string;

beforeAll(async () => {
  product = await sharedProduct();
  base = (await product.serve({ ACCOUNTS_SIGN_UP: 'open', ADDRESS_RATE_MAX: '0' })).api;
});
afterAll(() => product.close());

async function openLink(email: string, address: string): Promise<Response> {
  const { token } = await createLink(sqlOn(product.database.pool), email, accountTimes());
  return sendForm(`${base}/api/auth/link/${token}`, {}, { 'x-forwarded-for': address });
}
const organizationsOf = async (cookie: string) =>
  (await clientWith(base, { cookie }).get('/api/v1/account')).body.data.organizations;

test('a person who signs up gets an organization once, and can work in it', async () => {
  const email = newEmail();
  const cookie = cookieOf(await openLink(email, '203.0.113.1'));
  const organizations = await organizationsOf(cookie);
  expect(organizations).toEqual([
    { id: expect.stringMatching(/^org_/), name: email.split('@')[0], slug: expect.any(String), role: 'owner' },
  ]);
  const api = clientWith(base, consoleHeaders(cookie, organizations[0].id));
  expect((await api.post('/api/v1/workflows', { name: 'First', steps: [] })).status).toBe(201);
  expect((await api.get('/api/v1/limits')).body.data.plan).toBe('free');
  const { entries } = (await api.get('/api/v1/audit-log')).body.data;
  expect(entries.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['organization.create', 'member.create']),
  );
  expect(entries.at(-1)).toMatchObject({
    action: 'organization.create',
    actor: { type: 'user', name: email },
    ip: '203.0.113.1',
  });
  expect(await organizationsOf(cookieOf(await openLink(email, '203.0.113.1')))).toEqual(organizations);
});

test('who is invited gets no organization of their own', async () => {
  const { organizationId } = await product.createTenant();
  const person = await personWith({ ...product, base, organizationId }, 'viewer');
  const again = cookieOf(await openLink(person.email, '203.0.113.2'));
  expect(await organizationsOf(again)).toMatchObject([{ id: organizationId, role: 'viewer' }]);
});

test('a person who signs in at the provider several times at once gets one organization', async () => {
  const [email, subject] = [newEmail(), newId()];
  const identity = { issuer: 'https://id.example.com', subject, email, isEmailVerified: true, name: 'Ada' };
  const entry = { origin: { requestId: newId(), ip: '203.0.113.9' }, countOrganization: async () => {} };
  const signIn = () => userOfIdentity(product.database, identity, entry);
  const first = await signIn();
  const userId = 'userId' in first ? first.userId : undefined;
  await product.database.pool.query('delete from auth."member" where "userId" = $1', [userId]);
  await Promise.all(Array.from({ length: 4 }, signIn));
  const { rows } = await product.database.pool.query('select from auth."member" where "userId" = $1', [userId]);
  expect(rows).toHaveLength(1);
});

test('one address gets five in an hour; the link works later', async () => {
  const statuses = [];
  for (let time = 0; time < 6; time++) statuses.push((await openLink(newEmail(), '203.0.113.3')).status);
  expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
  const email = newEmail();
  const { token } = await createLink(sqlOn(product.database.pool), email, accountTimes());
  const open = (address: string) => sendForm(`${base}/api/auth/link/${token}`, {}, { 'x-forwarded-for': address });
  const refused = await open('203.0.113.3');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  expect((await open('203.0.113.4')).status).toBe(303);
});

test('accounts with a password are begun five times an hour by one address, and removed if they are not proved', async () => {
  const email = newEmail();
  const begin = (address: string, of = email) =>
    fetch(`${base}/api/auth/sign-up/email`, {
      method: 'POST',
      headers: { origin: ownOrigin, 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ email: of, name: 'Mallory', password: 'chosen by a stranger' }),
    });
  const strangers = Array.from({ length: 6 }, newEmail);
  const statuses = [];
  for (const stranger of strangers) statuses.push((await begin('203.0.113.5', stranger)).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  expect((await begin('203.0.113.6')).status).toBe(200);
  const password = { email, password: 'chosen by a stranger' };
  // The stranger signs in neither before the address is proved nor afterwards.
  expect((await sendForm(`${base}/api/auth/sign-in`, password)).status).toBe(401);
  expect((await openLink(email, '203.0.113.6')).status).toBe(303);
  expect((await sendForm(`${base}/api/auth/sign-in`, password)).status).toBe(401);

  const { unprovedMs } = accountTimes();
  const ofStrangers = 'from auth."user" where not "emailVerified" and email = any($1)';
  // In a transaction, in which the accounts have the age: the sweep of the shared product does not see it.
  const client = await product.database.pool.connect();
  try {
    await client.query('begin');
    const sql = sqlOn(client);
    const left = async () => (await client.query(`select ${ofStrangers}`, [strangers])).rowCount;
    expect([await forgetUnproved(sql, unprovedMs, 100), await left()]).toEqual([0, 5]);
    await client.query(
      `update auth."user" set "createdAt" = "createdAt" - make_interval(secs => $2) where id in (select id ${ofStrangers})`,
      [strangers, unprovedMs / 1_000],
    );
    expect([await forgetUnproved(sql, unprovedMs, 3), await left()]).toEqual([3, 2]);
    expect([await forgetUnproved(sql, unprovedMs, 100), await left()]).toEqual([2, 0]);
    await client.query('commit');
  } finally {
    client.release(true);
  }
  expect(await organizationsOf(cookieOf(await openLink(email, '203.0.113.7')))).toHaveLength(1);
});
