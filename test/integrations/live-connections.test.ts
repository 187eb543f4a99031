import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { addRedirect } from '../../src/connections/redirects.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type FakeHubSpot, startFakeHubSpot } from '../fakes/hubspot.ts';
import { type FakeSalesforce, startFakeSalesforce } from '../fakes/salesforce.ts';
import { type FakeSlack, startFakeSlack } from '../fakes/slack.ts';
import { type FakeTeams, startFakeTeams } from '../fakes/teams.ts';
import { type FakeUnipile, startFakeUnipile, unipileError } from '../fakes/unipile.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { visit } from './connect-in-sandbox.ts';
import { base, begin, findIn, listOf, outcomeOf } from './consents.ts';

let product: StartedProduct;
let hubspot: FakeHubSpot;
let teams: FakeTeams;
let slack: FakeSlack;
let unipile: FakeUnipile;
let salesforce: FakeSalesforce;
/** The URL of a process whose providers are on this machine. */
let liveUrl: string;
const done = 'https://app.example.com/integrated';

beforeAll(async () => {
  [hubspot, teams] = await Promise.all([startFakeHubSpot(), startFakeTeams()]);
  [slack, unipile, salesforce] = await Promise.all([startFakeSlack(), startFakeUnipile(), startFakeSalesforce()]);
  product = await sharedProduct();
  ({ api: liveUrl } = await product.serve({
    HUBSPOT_CLIENT_ID: hubspot.clientId,
    HUBSPOT_CLIENT_SECRET: hubspot.clientSecret,
    HUBSPOT_LOGIN_BASE_URL: hubspot.origin,
    HUBSPOT_BASE_URL: `${hubspot.origin}/`,
    TEAMS_CLIENT_ID: teams.clientId,
    TEAMS_CLIENT_SECRET: teams.clientSecret,
    TEAMS_LOGIN_BASE_URL: teams.origin,
    TEAMS_BASE_URL: teams.origin,
    SLACK_CLIENT_ID: slack.clientId,
    SLACK_CLIENT_SECRET: slack.clientSecret,
    SLACK_LOGIN_BASE_URL: slack.origin,
    SLACK_BASE_URL: slack.origin,
    SALESFORCE_CLIENT_ID: salesforce.clientId,
    SALESFORCE_CLIENT_SECRET: salesforce.clientSecret,
    SALESFORCE_LOGIN_BASE_URL: salesforce.origin,
    UNIPILE_API_KEY: unipile.apiKey,
    UNIPILE_BASE_URL: unipile.origin,
  }));
});
afterAll(async () => {
  await product.close();
  await Promise.all([hubspot, teams, slack, unipile, salesforce].map((fake) => fake.close()));
});

/** An organization of its own, that may send people back to `done`. */
async function newTenant() {
  const tenant = await product.createTenant();
  await addRedirect(product.database, tenant.organizationId, done, true);
  return { ...tenant, live: apiClient(liveUrl, tenant.liveKey), id: organizationIds.parse(tenant.organizationId)! };
}

describe('with a live key', () => {
  const grant = async (client: ApiClient, body: object = { redirectUrl: done }) =>
    hubspot.consent((await begin(client, 'hubspot', body)).authUrl);
  const connect = async (client: ApiClient) => outcomeOf(await visit(await grant(client), liveUrl));

  test('an account whose server may not or cannot be reached is not connected, and the consent says why', async () => {
    const { live } = await newTenant();
    const outcome = async (instanceUrl: string) => {
      salesforce.instanceUrl = instanceUrl;
      const { authUrl } = await begin(live, 'salesforce', { redirectUrl: done });
      return outcomeOf(await visit(await salesforce.consent(authUrl), liveUrl));
    };
    const failed = { integration: 'salesforce', status: 'error', error: 'exchange_failed' };
    for (const server of [
      'http://169.254.169.254',
      'https://instance.invalid',
      `http://localhost:${new URL(salesforce.origin).port}`,
    ]) {
      expect([server, await outcome(server)]).toEqual([server, { ...failed, reason: 'server_not_reached' }]);
    }
    const { authUrl } = await begin(live, 'salesforce');
    const page = await visit(await salesforce.consent(authUrl), liveUrl);
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('cannot be reached from here')]);
    expect((await findIn(live, 'salesforce')).status).toBe('not_connected');
    expect(await outcome(salesforce.origin)).toEqual({ integration: 'salesforce', status: 'connected' });
  });

  test('an integration without a client is listed and not configured', async () => {
    const { liveKey } = await newTenant();
    const client = apiClient(product.process.api, liveKey);
    expect(await listOf(client)).toHaveLength(5);
    for (const provider of ['slack', 'linkedin']) {
      const { status, body } = await client.post(`${base}/${provider}/connect`);
      expect([status, body.error]).toMatchObject([503, { code: 'provider_not_configured', details: { provider } }]);
    }
  });

  test('an account is connected, tested, connected again, and disconnected at its provider too', async () => {
    const { live } = await newTenant();
    const scopes = ['oauth', 'crm.objects.contacts.read'];
    const { authUrl } = await begin(live, 'hubspot', { redirectUrl: done, scopes });
    expect(new URL(authUrl).searchParams.get('scope')).toBe(scopes.join(' '));
    const back = await visit(await hubspot.consent(authUrl), liveUrl);
    expect(outcomeOf(back)).toEqual({ integration: 'hubspot', status: 'connected' });
    const first = await findIn(live, 'hubspot');
    expect(first).toMatchObject({ connected: true, account: { id: String(hubspot.portalId) } });
    expect(Object.keys(first)).not.toContain('sandbox');

    const { body } = await live.post(`${base}/hubspot/test`);
    expect(body.data).toMatchObject({ success: true, details: { workspace: expect.any(String) } });
    hubspot.next({ fail: { status: 429, headers: { 'retry-after': '7' }, body: {} } });
    const limited = await live.post(`${base}/hubspot/test`, undefined, { 'x-api-variant': 'B' });
    expect([limited.status, limited.headers.get('retry-after'), limited.body.error]).toMatchObject([
      429,
      '7',
      { code: 'RATE_LIMITED', details: { integrationId: 'hubspot' } },
    ]);
    hubspot.next('hang up');
    expect((await live.post(`${base}/hubspot/test`)).body.data).toMatchObject({
      success: false,
      details: { error: expect.any(String) },
    });

    expect(await connect(live)).toMatchObject({ status: 'connected' });
    expect((await findIn(live, 'hubspot')).account).toEqual(first.account);
    const before = hubspot.journal.length;
    expect((await live.delete(`${base}/hubspot/connection`)).status).toBe(200);
    expect(hubspot.journal.slice(before)).toMatchObject([{ endpoint: 'revoke', worked: true }]);
    expect((await findIn(live, 'hubspot')).status).toBe('not_connected');
  });

  test('another account takes the place of the one before when its owner has agreed, and not sooner', async () => {
    const { live, id } = await newTenant();
    await connect(live);
    const as = (table: string) => `update ${table} set account_id = 'before' where organization_id = $1`;
    for (const table of ['integration_connection', 'oauth_connection']) {
      await product.database.pool.query(as(table), [id]);
    }
    const denied = await hubspot.consent((await begin(live, 'hubspot')).authUrl, { deny: true });
    expect((await visit(denied, liveUrl)).status).toBe(400);
    expect((await findIn(live, 'hubspot')).account.id).toBe('before');
    const revoked = () => hubspot.journal.filter(({ endpoint, worked }) => endpoint === 'revoke' && worked).length;
    const count = revoked();
    await connect(live);
    expect((await findIn(live, 'hubspot')).account.id).toBe(String(hubspot.portalId));
    const { rows } = await product.database.pool.query(
      'select account_id from oauth_connection where organization_id = $1',
      [id],
    );
    expect(rows).toEqual([{ account_id: String(hubspot.portalId) }]);
    await until('the access before is revoked', async () => revoked() > count);
  });

  test('codes of others, twice, or of another provider connect nothing', async () => {
    const [ada, bob] = [await newTenant(), await newTenant()];
    const used = await grant(ada.live);
    expect((await visit(used, liveUrl)).status).toBe(302);
    const replay = new URL(await grant(bob.live));
    replay.searchParams.set('code', used.searchParams.get('code')!);
    expect(outcomeOf(await visit(replay, liveUrl))).toMatchObject({ status: 'error', error: 'exchange_failed' });
    // The code that Ada's browser got, with a question of Bob's: PKCE binds it to hers.
    const stolen = (await grant(ada.live)).searchParams.get('code')!;
    const { state } = await begin(bob.live, 'hubspot', { redirectUrl: done });
    const forged = await visit(`http://x${base}/callback?code=${stolen}&state=${state}`, liveUrl);
    expect(outcomeOf(forged)).toMatchObject({ error: 'exchange_failed' });
    const foreign = await teams.consent((await begin(bob.live, 'microsoft-teams')).authUrl);
    const mixed = await grant(bob.live);
    mixed.searchParams.set('code', foreign.searchParams.get('code')!);
    expect(outcomeOf(await visit(mixed, liveUrl))).toMatchObject({ error: 'exchange_failed' });
    const named = await grant(bob.live);
    named.searchParams.set('iss', 'https://evil.example');
    expect(outcomeOf(await visit(named, liveUrl))).toMatchObject({ error: 'exchange_failed' });
    expect((await findIn(bob.live, 'hubspot')).connected).toBe(false);
    // The account that Ada connected is hers alone.
    expect((await findIn(ada.live, 'hubspot')).connected).toBe(true);
    expect((await bob.live.post(`${base}/hubspot/test`)).body.error.code).toBe('not_connected');
  });

  test('fifty calls with a token that has ended make one refresh', async () => {
    const { live, id } = await newTenant();
    await connect(live);
    const past = 'update oauth_connection set access_expires_at = now(), refresh_at = now() where organization_id = $1';
    await product.database.pool.query(past, [id]);
    const before = hubspot.journal.length;
    const answers = await Promise.all(Array.from({ length: 50 }, () => live.post(`${base}/hubspot/test`)));
    expect(answers.map(({ body }) => body.data?.success)).toEqual(Array.from({ length: 50 }, () => true));
    const refreshes = hubspot.journal.slice(before).filter(({ endpoint }) => endpoint === 'token');
    expect(refreshes.map(({ body }) => body.grant_type)).toEqual(['refresh_token']);
  });

  test('access that was withdrawn is reported once, and works again after the next consent', async () => {
    const { live, id } = await newTenant();
    const webhook = { name: randomUUID(), url: 'https://hooks.example.com/x', events: ['integration.auth_expired'] };
    expect((await live.post('/api/v1/webhooks', webhook)).status).toBe(201);
    await connect(live);
    hubspot.grants.revokeAccount('ada@example.com');
    const answers = await Promise.all(Array.from({ length: 5 }, () => live.post(`${base}/hubspot/test`)));
    for (const { status, headers, body } of answers) {
      expect([status, body.error]).toMatchObject([
        401,
        { code: 'auth_expired', details: { integrationId: 'hubspot' } },
      ]);
      expect(headers.get('www-authenticate')).toBeNull();
    }
    const variant = { 'x-api-variant': 'B' };
    expect((await live.post(`${base}/hubspot/test`, undefined, variant)).body).toMatchObject({
      success: false,
      error: { code: 'AUTH_EXPIRED', details: { integrationId: 'hubspot' } },
    });
    expect(await findIn(live, 'hubspot')).toMatchObject({ connected: false, status: 'auth_expired' });
    const { rows } = await product.database.pool.query(
      "select facts from event where organization_id = $1 and type = 'integration.auth_expired'",
      [id],
    );
    expect(rows).toEqual([{ facts: { integration: 'hubspot' } }]);
    await connect(live);
    expect(await findIn(live, 'hubspot')).toMatchObject({ connected: true });
    expect((await live.post(`${base}/hubspot/test`)).body.data.success).toBe(true);
  });
});

describe('Slack, whose refusals are answers with status 200', () => {
  const grant = async (client: ApiClient, account: string) =>
    slack.consent((await begin(client, 'slack', { redirectUrl: done })).authUrl, { account });
  const connect = async (client: ApiClient, account: string) =>
    outcomeOf(await visit(await grant(client, account), liveUrl));

  test('is connected as the bot of a workspace, and its tokens are renewed', async () => {
    const { live } = await newTenant();
    const account = `T${randomUUID()}`;
    expect(await connect(live, account)).toEqual({ integration: 'slack', status: 'connected' });
    expect(await findIn(live, 'slack')).toMatchObject({ account: { id: account, name: `Team ${account}` } });
    slack.grants.endAccessTokens();
    const { body } = await live.post(`${base}/slack/test`);
    expect(body.data).toMatchObject({ success: true, details: { workspace: `Team ${account}`, user: 'atelier' } });
    expect((await live.delete(`${base}/slack/connection`)).status).toBe(200);
    expect(slack.journal.at(-1)).toMatchObject({ endpoint: 'revoke', worked: true });
  });

  test('a refused code connects nothing, and an ended grant is reported', async () => {
    const { live } = await newTenant();
    const account = `T${randomUUID()}`;
    const back = await grant(live, account);
    back.searchParams.set('code', 'made-up');
    expect(outcomeOf(await visit(back, liveUrl))).toMatchObject({ status: 'error', error: 'exchange_failed' });
    expect(await connect(live, account)).toMatchObject({ status: 'connected' });
    slack.grants.revokeAccount(account);
    const { status, body } = await live.post(`${base}/slack/test`);
    expect([status, body.error.code]).toEqual([401, 'auth_expired']);
    expect(await findIn(live, 'slack')).toMatchObject({ connected: false, status: 'auth_expired' });
  });
});

describe('LinkedIn, which is connected on a page of Unipile', () => {
  const ask = async (client: ApiClient) => (await begin(client, 'linkedin', { redirectUrl: done })).authUrl;

  test('is connected, tested and disconnected', async () => {
    const { live } = await newTenant();
    const back = await unipile.link(await ask(live), { accountId: `acc_${randomUUID()}` });
    expect(outcomeOf(await visit(back, liveUrl))).toEqual({ integration: 'linkedin', status: 'connected' });
    const id = back.searchParams.get('account_id');
    expect(await findIn(live, 'linkedin')).toMatchObject({ connected: true, account: { id, name: 'Grace Hopper' } });
    expect((await live.post(`${base}/linkedin/test`)).body.data).toMatchObject({
      success: true,
      details: { workspace: 'LinkedIn', user: 'Grace Hopper' },
    });
    const other = await unipile.link(await ask(live));
    expect(outcomeOf(await visit(other, liveUrl))).toMatchObject({ status: 'connected' });
    await until('the account before is forgotten', async () => !unipile.accounts.has(id!));
    unipile.next('hang up');
    expect((await live.delete(`${base}/linkedin/connection`)).status).toBe(200);
    expect((await findIn(live, 'linkedin')).status).toBe('not_connected');
    expect(unipile.journal.at(-1)).toMatchObject({ method: 'DELETE', worked: false });
  });

  test('an account that was linked for another tenant cannot be named', async () => {
    const [ada, bob] = [await newTenant(), await newTenant()];
    const hers = await unipile.link(await ask(ada.live));
    expect(outcomeOf(await visit(hers, liveUrl))).toMatchObject({ status: 'connected' });
    const forgery = await unipile.link(await ask(bob.live));
    for (const account of [hers.searchParams.get('account_id')!, 'acc_none', '../auth', '']) {
      const forged = await unipile.link(await ask(bob.live));
      forged.searchParams.set('account_id', account);
      expect(outcomeOf(await visit(forged, liveUrl))).toMatchObject({ status: 'error', error: 'exchange_failed' });
    }
    expect((await findIn(bob.live, 'linkedin')).connected).toBe(false);
    expect(outcomeOf(await visit(forgery, liveUrl))).toMatchObject({ status: 'connected' });
  });

  test('a refusal there, and an unreachable page, are reported', async () => {
    const { live } = await newTenant();
    const denied = await unipile.link(await ask(live), { deny: true });
    expect(outcomeOf(await visit(denied, liveUrl))).toMatchObject({ status: 'error', error: 'access_denied' });
    unipile.next('hang up');
    expect((await live.post(`${base}/linkedin/connect`)).status).toBe(503);
  });

  test('a key that Unipile refuses for an account ends its access', async () => {
    const { live } = await newTenant();
    await visit(await unipile.link(await ask(live)), liveUrl);
    unipile.next({ fail: unipileError(401, 'provider/invalid_authorization') });
    const { status, body } = await live.post(`${base}/linkedin/test`);
    expect([status, body.error.code]).toEqual([401, 'auth_expired']);
    expect(await findIn(live, 'linkedin')).toMatchObject({ connected: false, status: 'auth_expired' });
  });
});
