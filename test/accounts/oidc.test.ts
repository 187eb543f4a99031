import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type OidcProvider, startOidcProvider } from '../fakes/oidc-provider.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { until } from '../until.ts';
import { clientWith, cookieOf, newEmail, personWith } from './people.ts';

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
  base = (await product.serve(settings())).api;
  tenant = await product.createTenant();
});
afterAll(async () => {
  await product?.close();
  await provider?.close();
});

let people = 0;
beforeEach(() => {
  provider.misbehave({});
  provider.person = { sub: `subject-${++people}`, email: newEmail(), email_verified: true, name: 'Ada' };
});

const cookiesOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.slice(0, cookie.indexOf(';')))
    .join('; ');

/** The way to the provider, with the cookies that the browser keeps. */
async function begin(next?: string, at = base) {
  const query = next === undefined ? '' : `?next=${encodeURIComponent(next)}`;
  const answer = await fetch(`${at}/api/auth/oidc${query}`, { redirect: 'manual' });
  return { answer, url: answer.headers.get('location') ?? '', cookie: cookiesOf(answer) };
}
const end = (query: string, cookie: string, at = base) =>
  fetch(`${at}/api/auth/oidc/callback${query}`, { headers: { cookie }, redirect: 'manual' });

async function signIn(next?: string, at = base): Promise<Response> {
  const { url, cookie } = await begin(next, at);
  return end(provider.consent(url), cookie, at);
}

const inviteTo = (email: string, role: 'member' | 'owner' = 'member') =>
  invite(
    product.database,
    { organizationId: organizationIds.parse(tenant.organizationId)!, email, role },
    { actor: 'operator' },
    { times: accountTimes() },
  );
const accountOf = async (answer: Response, at = base) =>
  (await clientWith(at, { cookie: cookieOf(answer) }).get('/api/v1/account')).body.data;
const isSignedIn = (answer: Response) => answer.headers.getSetCookie().some((cookie) => /^atelier=[^;]/.test(cookie));

describe('a person at the provider', () => {
  test('who is invited gets an account and their organization, and goes where they wanted to', async () => {
    await inviteTo(provider.person.email!);
    const { answer, url, cookie } = await begin('/app/runs?status=failed');
    expect(answer.status).toBe(302);
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^atelier\.oidc=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const entered = await end(provider.consent(url), cookie);
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/app/runs?status=failed']);
    expect(entered.headers.getSetCookie().join()).toContain('atelier.oidc=; Max-Age=0');
    const { user, organizations } = await accountOf(entered);
    expect(user).toMatchObject({ email: provider.person.email, name: 'Ada' });
    expect(organizations).toMatchObject([{ id: tenant.organizationId, role: 'member' }]);
    // The same identity is the same person, whatever its address is now.
    provider.person.email = newEmail();
    expect((await accountOf(await signIn())).user.id).toBe(user.id);
  });

  test('joins the account of an address that the provider has proved', async () => {
    const person = await personWith({ ...product, base, organizationId: tenant.organizationId }, 'admin');
    provider.person.email = person.email.toUpperCase();
    const { user, organizations } = await accountOf(await signIn());
    expect(user.email).toBe(person.email);
    expect(organizations).toMatchObject([{ role: 'admin' }]);
  });

  test('joins none by an address that it has not proved', async () => {
    const person = await personWith({ ...product, base, organizationId: tenant.organizationId }, 'owner');
    for (const email_verified of [false, 'true', 1, undefined, null]) {
      provider.person = { sub: `hostile-${String(email_verified)}`, email: person.email, email_verified };
      const answer = await signIn();
      expect([email_verified, answer.status, isSignedIn(answer)]).toEqual([email_verified, 403, false]);
      expect(await answer.text()).toContain('has not proved your e-mail address');
    }
    provider.person = { sub: 'hostile-none', email_verified: true };
    expect((await signIn()).status).toBe(403);
  });

  test('joins none by another address that has the same letters in lower case', async () => {
    const email = newEmail().replace('person', 'kim');
    await personWith({ ...product, base, organizationId: tenant.organizationId }, 'owner', email);
    // The Kelvin sign.
    provider.person = { sub: 'kelvin', email: email.replace('k', '\u212a'), email_verified: true };
    const answer = await signIn();
    expect([answer.status, isSignedIn(answer)]).toEqual([403, false]);
  });

  test('has a name that can be stored, whatever the provider says', async () => {
    await inviteTo(provider.person.email!);
    provider.person.name = `A\0da\u0007${'x'.repeat(196)}😀`;
    expect((await accountOf(await signIn())).user.name).toBe(`Ada${'x'.repeat(196)}`);
  });

  test('a person without an invitation has no account, whatever the domain of the address is', async () => {
    const answer = await signIn();
    expect([answer.status, isSignedIn(answer)]).toEqual([403, false]);
    expect(await answer.text()).toContain('Ask for an invitation');
    const { rows } = await product.database.pool.query('select from auth."user" where email = $1', [
      provider.person.email,
    ]);
    expect(rows).toEqual([]);
  });

  test('is one account, also where two windows come back at once', async () => {
    await inviteTo(provider.person.email!);
    const answers = await Promise.all([signIn(), signIn(), signIn()]);
    const ids = await Promise.all(answers.map(async (answer) => (await accountOf(answer)).user.id));
    expect(new Set(ids).size).toBe(1);
  });

  test('without an address in the token is known by what the provider says beside it', async () => {
    await inviteTo(provider.person.email!);
    const withoutAddress = ({ email: _, email_verified: __, ...rest }: Record<string, unknown>) => rest;
    provider.misbehave({ claims: withoutAddress });
    expect((await accountOf(await signIn())).user.email).toBe(provider.person.email);

    provider.person = { sub: 'beside', email: newEmail(), email_verified: true };
    await inviteTo(provider.person.email!);
    // A claim about another person, proved by another claim than the address.
    provider.misbehave({ claims: withoutAddress, userInfo: (usual) => ({ ...usual, sub: 'another' }) });
    expect((await signIn()).status).toBe(400);
    provider.misbehave({
      claims: ({ email: _, ...rest }) => rest,
      userInfo: (usual) => ({ ...usual, email_verified: false }),
    });
    expect((await signIn()).status).toBe(403);
  });
});

describe('what comes back', () => {
  test('is refused in another browser than the one that began, and a second time', async () => {
    await inviteTo(provider.person.email!);
    const mine = await begin();
    const query = provider.consent(mine.url);
    const other = await begin();
    for (const cookie of ['', other.cookie, 'atelier.oidc=forged', `${mine.cookie}x`]) {
      const answer = await end(query, cookie);
      expect([answer.status, isSignedIn(answer)]).toEqual([400, false]);
    }
    expect((await end(query, mine.cookie)).status).toBe(303);
    const again = await end(query, mine.cookie);
    expect([again.status, isSignedIn(again)]).toEqual([400, false]);
  });

  test('is refused with another state, another issuer, an error or no code', async () => {
    const { url, cookie } = await begin();
    const right = new URLSearchParams(provider.consent(url));
    const queries = [
      { code: right.get('code')!, state: 'another' },
      { code: right.get('code')! },
      { state: right.get('state')!, error: 'access_denied' },
      { state: right.get('state')! },
      { code: right.get('code')!, state: right.get('state')!, iss: 'https://evil.example' },
    ];
    for (const query of queries) {
      const answer = await end(`?${new URLSearchParams(query)}`, cookie);
      expect([query, answer.status, isSignedIn(answer)]).toEqual([query, 400, false]);
      expect(await answer.text()).not.toContain('access_denied');
    }
  });

  test('is refused where the token is not one for this sign-in', async () => {
    const person = await personWith({ ...product, base, organizationId: tenant.organizationId }, 'owner');
    provider.person = { sub: 'forger', email: person.email, email_verified: true };
    const now = Math.floor(Date.now() / 1000);
    const forged = [
      { claims: (usual: object) => ({ ...usual, aud: 'another-client' }) },
      { claims: (usual: object) => ({ ...usual, aud: [provider.clientId, 'another'], azp: 'another' }) },
      { claims: (usual: object) => ({ ...usual, nonce: 'another' }) },
      { claims: ({ nonce: _, ...rest }: Record<string, unknown>) => rest },
      { claims: (usual: object) => ({ ...usual, iss: 'https://evil.example' }) },
      { claims: (usual: object) => ({ ...usual, exp: now - 60, iat: now - 120 }) },
      { claims: ({ exp: _, ...rest }: Record<string, unknown>) => rest },
      { claims: (usual: object) => ({ ...usual, sub: '' }) },
      { claims: (usual: object) => ({ ...usual, sub: 'forger\0' }) },
      { claims: (usual: object) => ({ ...usual, sub: 'x'.repeat(256) }) },
      { foreignKey: true },
      { header: { alg: 'none' } },
      { header: { alg: 'HS256' } },
      { header: { kid: 'unknown' } },
    ];
    for (const how of forged) {
      provider.misbehave(how);
      const answer = await signIn();
      expect([String(how.claims ?? JSON.stringify(how)), answer.status, isSignedIn(answer)]).toEqual([
        String(how.claims ?? JSON.stringify(how)),
        400,
        false,
      ]);
    }
    provider.misbehave({});
    expect((await signIn()).status).toBe(303);
  });

  test('leads to pages of our own alone', async () => {
    await inviteTo(provider.person.email!);
    for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example', '/app/..//evil.example']) {
      expect((await signIn(next)).headers.get('location')).toBe('/app');
    }
  });
});

describe('a provider that misbehaves', () => {
  test('costs a sign-in, and no more: answers without an end, of great depth, and none at all', async () => {
    await inviteTo(provider.person.email!);
    for (const answer of ['huge', 'deep', 'garbage', 'error'] as const) {
      provider.misbehave({ answers: { '/token': answer } });
      expect([answer, (await signIn()).status]).toEqual([answer, 400]);
    }
    // More of them than ask the provider at a time: those who have waited for their turn to the end of their time get 503.
    // Again where a machine was so busy that ten seconds took more.
    await until('all are back after ten seconds', async () => {
      provider.misbehave({});
      const sent = await Promise.all(Array.from({ length: 12 }, () => begin()));
      provider.misbehave({ answers: { '/token': 'silence' } });
      const begun = performance.now();
      const back = sent.map(async ({ url, cookie }) => (await end(provider.consent(url), cookie)).status);
      const statuses = await Promise.all(back);
      expect([400, 503]).toEqual(expect.arrayContaining(statuses));
      // Two rounds of ten seconds would be twenty.
      return performance.now() - begun < 19_000;
    });
    provider.misbehave({});
    expect((await signIn()).status).toBe(303);
  });

  test('whose metadata names another issuer or an address that may not be opened is not gone to', async () => {
    // A process of its own: another one keeps what it has read.
    const { api } = await product.serve(settings());
    for (const metadata of [{ issuer: 'https://evil.example' }, { authorization_endpoint: 'javascript:alert(1)' }]) {
      provider.misbehave({ metadata: (usual) => ({ ...usual, ...metadata }) });
      const { answer } = await begin(undefined, api);
      expect([metadata, answer.status, answer.headers.get('location')]).toEqual([metadata, 503, null]);
    }
  });

  test('that is away leaves the other ways to sign in', async () => {
    const { api } = await product.serve({ ...settings(), OIDC_ISSUER: 'http://127.0.0.1:9' });
    const { answer } = await begin(undefined, api);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    const page = await (await fetch(`${api}/api/auth/sign-in`)).text();
    expect(page).toContain('Sign in with 127.0.0.1:9');
    expect(page).toContain('name="password"');
  });
});

test('without a provider there is no such page', async () => {
  const { api } = await product.serve();
  expect((await fetch(`${api}/api/auth/oidc`, { redirect: 'manual' })).status).toBe(404);
  expect(await (await fetch(`${api}/api/auth/sign-in`)).text()).not.toContain('/api/auth/oidc');
});

test('a process does not start with half of the settings', async () => {
  const { OIDC_CLIENT_SECRET: _, ...half } = settings();
  await expect(product.serve(half)).rejects.toThrow('OIDC_CLIENT_SECRET: is not set');
});
