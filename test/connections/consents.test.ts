import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Connections } from '../../src/connections/connections.ts';
import { addRedirect } from '../../src/connections/redirects.ts';
import { removeExpiredStates } from '../../src/connections/states.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type FakeOAuth, startFakeOAuth } from '../fakes/oauth/oauth-server.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { openConnections, providerOf, publicUrl } from './open-connections.ts';
import { newTenant } from './scene.ts';

let files: TestDatabase;
let database: Database;
let google: FakeOAuth;
let microsoft: FakeOAuth;
let connections: Connections;
/** Waits a second for a provider, and no longer. */
let hasty: Connections;
let close: () => Promise<unknown>;
let ada: Scope;
let bob: Scope;
const log: string[] = [];

beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  google = await startFakeOAuth({ like: 'google' });
  microsoft = await startFakeOAuth({ like: 'microsoft' });
  const providers = {
    google: providerOf('google', google, { grantsInPart: true }),
    microsoft: providerOf('microsoft', microsoft),
    unset: undefined,
  };
  const usual = openConnections(database, { providers, log });
  const other = openConnections(database, { providers, log, policy: { tokenMs: 1_000 } });
  [connections, hasty] = [usual.connections, other.connections];
  close = () => Promise.all([usual.close(), other.close()]);
});
beforeEach(async () => {
  [ada, bob] = [await newTenant(database), await newTenant(database)];
});
afterAll(async () => {
  await close();
  await Promise.all([google.close(), microsoft.close()]);
  await database.close();
  await files.drop();
});

const question = { purpose: 'calendar', provider: 'google', subject: { hostId: 'h1' } };
const finish = (back: URL, purpose = 'calendar', by = connections) => by.finish(back.searchParams, purpose);
const unknown = { code: 'validation_error', facts: { errors: [{ path: 'state', message: expect.any(String) }] } };

describe('a consent', () => {
  test('gives tokens to the tenant that asked, and what it asked for', async () => {
    const begun = await connections.begin(ada, { ...question, loginHint: 'eve@example.com' });
    expect(begun).toEqual({ authUrl: expect.any(String), state: expect.stringMatching(/^[\w-]{43}$/), expiresIn: 600 });
    const asked = new URL(begun.authUrl).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      client_id: google.clientId,
      scope: 'a b',
      access_type: 'offline',
      redirect_uri: `${publicUrl}/callback`,
      state: begun.state,
      code_challenge_method: 'S256',
      login_hint: 'eve@example.com',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
    const answered = await finish(await google.consent(begun.authUrl));
    expect(answered).toMatchObject({ provider: 'google', subject: { hostId: 'h1' }, redirectUrl: null });
    expect(answered.scope.tenant).toEqual(ada.tenant);
    const { tokens } = answered.result as { tokens: { accessToken: string; expiresAt: Date } };
    expect(google.grants.accountOf(tokens.accessToken)).toBe('eve@example.com');
    expect(tokens.expiresAt.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
  });

  test('is asked for only where the client of a provider is set, and in the sandbox', async () => {
    await expect(connections.begin(ada, { ...question, provider: 'unset' })).rejects.toMatchObject({
      code: 'provider_not_configured',
      facts: { provider: 'unset' },
    });
    const inTest = await newTenant(database, 'test');
    const { authUrl, state } = await connections.begin(inTest, { ...question, provider: 'unset' });
    expect(authUrl).toBe(`${publicUrl}/sandbox/oauth/authorize?state=${state}`);
    const back = new URL(await connections.answerInSandbox(state));
    expect(back.origin + back.pathname).toBe(`${publicUrl}/callback`);
    expect(await finish(back)).toMatchObject({ result: { tokens: { refreshToken: expect.any(String) } } });
    await expect(connections.answerInSandbox(state)).rejects.toMatchObject(unknown);
    const denied = await connections.begin(inTest, { ...question, loginHint: 'sandbox:denied' });
    const refused = new URL(await connections.answerInSandbox(denied.state));
    expect(await finish(refused)).toMatchObject({ result: { error: 'access_denied' } });
  });

  test('of a live key has no answer in the sandbox', async () => {
    const { state } = await connections.begin(ada, question);
    await expect(connections.answerInSandbox(state)).rejects.toMatchObject(unknown);
  });

  test('in part is a refusal, where the provider lets its owner choose', async () => {
    const { authUrl } = await connections.begin(ada, question);
    expect(await finish(await google.consent(authUrl, { scope: 'a' }))).toMatchObject({
      result: { error: 'access_denied' },
    });
    const { authUrl: other } = await connections.begin(ada, { ...question, provider: 'microsoft' });
    expect(await finish(await microsoft.consent(other, { scope: 'a' }))).toMatchObject({ result: { tokens: {} } });
  });

  test('that its owner refuses is over, and says so', async () => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl, { deny: true });
    expect(await finish(back)).toMatchObject({ result: { error: 'access_denied' } });
    await expect(finish(back)).rejects.toMatchObject(unknown);
  });
});

describe('an answer', () => {
  test('is taken once: of many at the same time one gets tokens', async () => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl);
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => finish(back)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject(unknown);
  });

  test.each(['', 'x', 'x'.repeat(43), `${'x'.repeat(42)}\0`, 'x'.repeat(5_000)])(
    'with the state %j is unknown',
    async (state) => {
      await expect(connections.finish(new URLSearchParams({ code: 'c', state }), 'calendar')).rejects.toMatchObject(
        unknown,
      );
    },
  );

  test('with two states, or none, is unknown', async () => {
    const { state } = await connections.begin(ada, question);
    for (const query of [`code=c&state=${state}&state=${state}`, 'code=c']) {
      await expect(connections.finish(new URLSearchParams(query), 'calendar')).rejects.toMatchObject(unknown);
    }
  });

  test('of another purpose is none, and its state is used up', async () => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl);
    await expect(finish(back, 'integration')).rejects.toMatchObject(unknown);
    await expect(finish(back)).rejects.toMatchObject(unknown);
  });

  test('comes within ten minutes', async () => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl);
    await database.pool.query(
      "update oauth_state set expires_at = clock_timestamp() - interval '1 s' where organization_id = $1",
      [ada.tenant.organizationId],
    );
    expect(await removeExpiredStates(database, 0)).toBe(0);
    await expect(finish(back)).rejects.toMatchObject(unknown);
    const later = await connections.begin(ada, question);
    await database.pool.query("update oauth_state set expires_at = clock_timestamp() - interval '1 s'");
    expect(await removeExpiredStates(database, 100)).toBeGreaterThan(0);
    await expect(finish(await google.consent(later.authUrl))).rejects.toMatchObject(unknown);
  });

  test('to a deleted organization is unknown, until it is restored', async () => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl);
    const { organizationId } = ada.tenant;
    await database.pool.query('update organization set deleted_at = clock_timestamp() where id = $1', [organizationId]);
    await expect(finish(back)).rejects.toMatchObject(unknown);
    await database.pool.query('update organization set deleted_at = null where id = $1', [organizationId]);
    expect(await finish(back)).toMatchObject({ result: { tokens: {} } });
  });

  test('with a foreign code gives nothing: the proof of the request is missing (PKCE)', async () => {
    const [hers, his] = [await connections.begin(ada, question), await connections.begin(bob, question)];
    const [toHer, toHim] = [await google.consent(hers.authUrl), await google.consent(his.authUrl)];
    toHim.searchParams.set('code', toHer.searchParams.get('code')!);
    expect(await finish(toHim)).toMatchObject({ result: { error: 'exchange_failed' } });
  });

  test('that comes from another provider gives nothing, and its code is not sent anywhere (mix-up)', async () => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl, { iss: microsoft.origin });
    const before = google.journal.length;
    expect(await finish(back)).toMatchObject({ result: { error: 'exchange_failed' } });
    expect(google.journal).toHaveLength(before);
    // A provider that does not name itself refuses the code of another one.
    const other = await connections.begin(ada, { ...question, provider: 'microsoft' });
    const mixed = await google.consent((await connections.begin(ada, question)).authUrl);
    const query = new URLSearchParams({ code: mixed.searchParams.get('code')!, state: other.state });
    expect(await connections.finish(query, 'calendar')).toMatchObject({ result: { error: 'exchange_failed' } });
  });

  test.each([
    ['an error that is not a refusal', 'error=server_error'],
    ['no code', ''],
    ['two codes', 'code=a&code=b'],
    ['an invented code', 'code=made-up'],
    ['a token in place of a code', 'token=x'],
    ['a signed answer in place of a code', 'response=x'],
  ])('with %s gives nothing', async (_, rest) => {
    const { state } = await connections.begin(ada, question);
    expect(await connections.finish(new URLSearchParams(`${rest}&state=${state}`), 'calendar')).toMatchObject({
      result: { error: 'exchange_failed' },
    });
  });
});

describe('an exchange', () => {
  test.each([
    ['hangs up', 'hang up'],
    ['loses its answer', 'lose the answer'],
    ['is garbage', 'garbage'],
    ['never ends', 'flood'],
    ['has a token that is none', 'odd token'],
    ['fails', { fail: { status: 503 } }],
    ['does not come', 'silence'],
  ] as const)('that %s is over: the code is not sent again', async (_, behaviour) => {
    const { authUrl } = await connections.begin(ada, question);
    const back = await google.consent(authUrl);
    const before = google.journal.length;
    google.next(behaviour);
    const by = behaviour === 'silence' ? hasty : connections;
    expect(await finish(back, 'calendar', by)).toMatchObject({ result: { error: 'exchange_failed' } });
    expect(google.journal).toHaveLength(before + 1);
    await expect(finish(back)).rejects.toMatchObject(unknown);
  });

  test('says nothing of codes, tokens, states or secrets to the log', async () => {
    const { authUrl, state } = await connections.begin(ada, question);
    const back = await google.consent(authUrl);
    google.next({ fail: { status: 400, body: { error: 'invalid_grant', error_description: 'a secret word' } } });
    await finish(back);
    const strange = await google.consent((await connections.begin(ada, question)).authUrl);
    google.next({ fail: { status: 200, body: { access_token: 'a-token', refresh_token: 'another-token' } } });
    expect(await finish(strange)).toMatchObject({ result: { error: 'exchange_failed' } });
    const text = log.join('\n');
    expect(text).toMatch('invalid_grant');
    expect(text).toMatch('token_type');
    for (const secret of [
      back.searchParams.get('code')!,
      state,
      google.clientSecret,
      'secret word',
      'a-token',
      'another-token',
    ]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('questions', () => {
  test('are kept as hashes, and their verifiers sealed', async () => {
    const { state } = await connections.begin(ada, question);
    const { rows } = await database.pool.query('select * from oauth_state where organization_id = $1', [
      ada.tenant.organizationId,
    ]);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(state);
    expect(rows[0].sealed_verifier).toMatch(/^v1:k1:/);
  });

  test('of one tenant that are open are limited, and no other tenant notices', async () => {
    const begin = () => connections.begin(ada, question);
    const results = [];
    for (let round = 0; round < 13; round++) {
      results.push(...(await Promise.allSettled(Array.from({ length: 40 }, begin))));
    }
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(500);
    await expect(begin()).rejects.toMatchObject({ kind: 'rate_limit_exceeded', retryAfter: 60 });
    await connections.begin(bob, question);
    await connections.begin(new Scope(database, { ...ada.tenant, environment: 'test' }, 'test'), question);
    await database.pool.query('update oauth_state set expires_at = clock_timestamp() where organization_id = $1', [
      ada.tenant.organizationId,
    ]);
    await begin();
  });
});

describe('the address to go back to', () => {
  const idOf = ({ tenant }: Scope) => organizationIds.format(tenant.organizationId);
  const begin = (redirectUrl: string, scope = ada) => connections.begin(scope, { ...question, redirectUrl });
  const refused = {
    code: 'validation_error',
    facts: { errors: [{ path: 'redirectUrl', message: expect.any(String) }] },
  };

  test('is one of the list, with any query', async () => {
    await addRedirect(database, idOf(ada), 'https://App.example.com:443/done', true);
    await addRedirect(database, idOf(ada), 'http://localhost:8080/done', true);
    const { authUrl } = await begin('https://app.example.com/done?tab=1');
    expect(await finish(await google.consent(authUrl))).toMatchObject({
      redirectUrl: 'https://app.example.com/done?tab=1',
    });
    await begin('http://localhost:8080/done');
    await begin('https://app.example.com/done', new Scope(database, { ...ada.tenant, environment: 'test' }, 'test'));
    await expect(begin('https://app.example.com/done', bob)).rejects.toMatchObject(refused);
  });

  test.each([
    'https://app.example.com/done/',
    'https://app.example.com/done/../other',
    'https://app.example.com/Done',
    'https://app.example.com:8443/done',
    'https://app.example.com.evil.example/done',
    'https://evil.example/https://app.example.com/done',
    'https://app.example.com@evil.example/done',
    'https://user@app.example.com/done',
    'https://app.example.com/done#x',
    'https://app.example.com/done#',
    'http://app.example.com/done',
    'javascript:alert(1)',
    '//app.example.com/done',
    '/done',
    'https://app.example.com/done%2f',
    `https://app.example.com/done?${'x'.repeat(2_048)}`,
    '',
  ])('is not %j', async (redirectUrl) => {
    await addRedirect(database, idOf(ada), 'https://app.example.com/done', true);
    await expect(begin(redirectUrl)).rejects.toMatchObject(refused);
  });
});
