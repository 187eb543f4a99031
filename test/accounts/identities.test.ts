import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.ts';
import { type OidcProvider, startOidcProvider } from '../fakes/oidc-provider.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { clientWith, consoleHeaders, newEmail, type Person, personWith, sendForm } from './people.ts';

let product: StartedProduct;
let provider: OidcProvider;
let tenant: Tenant;
let base: string;

const settings = () => ({
  OIDC_ISSUER: provider.issuer,
  OIDC_CLIENT_ID: provider.clientId,
  OIDC_CLIENT_SECRET: provider.clientSecret,
  ADDRESS_RATE_MAX: '0',
});

beforeAll(async () => {
  provider = await startOidcProvider();
  product = await sharedProduct();
  ({ tenant } = product);
  base = (await product.serve(settings())).api;
});
afterAll(async () => {
  await product?.close();
  await provider?.close();
});

const cookiesOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.slice(0, cookie.indexOf(';')))
    .join('; ');

/** Signs in at the provider as the person that it now has. */
async function signIn(at = base): Promise<Response> {
  const begun = await fetch(`${at}/api/auth/oidc`, { redirect: 'manual' });
  const query = provider.consent(begun.headers.get('location')!);
  return fetch(`${at}/api/auth/oidc/callback${query}`, { headers: { cookie: cookiesOf(begun) }, redirect: 'manual' });
}

/** A person with a role who has signed in at the provider as this subject. */
async function personAtProvider(sub: string, role: 'viewer' | 'owner' = 'viewer'): Promise<Person> {
  const person = await personWith({ ...product, base, organizationId: tenant.organizationId }, role);
  await link(sub, person);
  return person;
}

async function link(sub: string, { email }: Person): Promise<void> {
  provider.person = { sub, email, email_verified: true, name: 'Ada' };
  expect((await signIn()).status).toBe(303);
}

const identitiesOf = async ({ api }: Person) => (await api.get('/api/v1/account/identities')).body.data.identities;
const unlink = ({ api }: Person, id: string, headers = {}) => api.delete(`/api/v1/account/identities/${id}`, headers);
const setPassword = ({ cookie }: Person) =>
  sendForm(`${base}/api/auth/password`, { newPassword: `a long ${newId()}` }, { cookie });

test('an identity is listed, unlinked, in the audit log, and no longer signs in', async () => {
  const person = await personAtProvider('listed');
  const [identity, ...more] = await identitiesOf(person);
  expect(more).toEqual([]);
  expect(identity).toEqual({
    id: expect.stringMatching(/^idn_/),
    issuer: provider.issuer,
    isUsable: true,
    createdAt: expect.any(String),
  });
  expect((await setPassword(person)).status).toBe(200);
  expect((await unlink(person, identity.id)).body).toEqual({ success: true, data: { deleted: true } });
  expect(await identitiesOf(person)).toEqual([]);
  // The session goes on.
  expect((await person.api.get('/api/v1/account')).status).toBe(200);
  expect((await unlink(person, identity.id)).status).toBe(404);

  const { entries } = (await person.api.get('/api/v1/audit-log?action=identity.delete')).body.data;
  expect(entries[0]).toMatchObject({
    action: 'identity.delete',
    actor: { type: 'user', name: person.email },
    target: { type: 'identity', id: identity.id },
    requestId: expect.any(String),
  });

  // With another address the identity has no person; with that of the account it is linked again.
  provider.person = { sub: 'listed', email: newEmail(), email_verified: true };
  expect((await signIn()).status).toBe(403);
  await link('listed', person);
  expect(await identitiesOf(person)).toMatchObject([{ isUsable: true }]);
});

test('who could sign in by nothing else keeps one, also where two are unlinked at once', async () => {
  const person = await personAtProvider('first');
  const [first] = await identitiesOf(person);
  const refused = await unlink(person, first.id);
  expect(refused.status).toBe(409);
  expect(refused.body.error).toMatchObject({ code: 'conflict', details: { reason: 'only_way_to_sign_in' } });
  expect(refused.body.error.message).toContain('Set a password or add a passkey first');
  await link('second', person);
  const both: { id: string }[] = await identitiesOf(person);
  const answers = await Promise.all(both.map(({ id }) => unlink(person, id)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  expect(await identitiesOf(person)).toHaveLength(1);
  expect((await setPassword(person)).status).toBe(200);
  for (const { id } of await identitiesOf(person)) expect((await unlink(person, id)).status).toBe(200);
});

test('an identity of a provider that the installation has no longer is no way to sign in', async () => {
  const person = await personAtProvider('of a past provider');
  const { api } = await product.serve({ ...settings(), OIDC_ISSUER: 'http://127.0.0.1:9' });
  const there = clientWith(api, consoleHeaders(person.cookie, tenant.organizationId));
  const [{ id, isUsable }] = (await there.get('/api/v1/account/identities')).body.data.identities;
  expect(isUsable).toBe(false);
  expect((await there.delete(`/api/v1/account/identities/${id}`)).status).toBe(200);
});

test('an identity is its person’s alone, by a session and by no key, and not across sites', async () => {
  const person = await personAtProvider('guarded', 'owner');
  const other = await personWith({ ...product, base, organizationId: tenant.organizationId }, 'owner');
  const [{ id }] = await identitiesOf(person);
  expect((await setPassword(person)).status).toBe(200);
  expect(await identitiesOf(other)).toEqual([]);
  expect((await unlink(other, id)).status).toBe(404);
  expect((await unlink(person, 'idn_nonsense')).status).toBe(404);
  const ofKey = clientWith(base, { authorization: `Bearer ${tenant.testKey}` });
  expect((await ofKey.get('/api/v1/account/identities')).status).toBe(401);
  expect((await ofKey.delete(`/api/v1/account/identities/${id}`)).status).toBe(401);
  const foreign = await unlink(person, id, { origin: 'https://evil.example' });
  expect([foreign.status, foreign.body.error.details]).toEqual([403, { reason: 'csrf' }]);
  expect(await identitiesOf(person)).toHaveLength(1);
});
