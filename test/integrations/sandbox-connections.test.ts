import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { addRedirect } from '../../src/connections/redirects.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { whileHeld } from '../hold-lock.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { connectInSandbox, visit } from './connect-in-sandbox.ts';
import { base, begin, findIn, listOf, outcomeOf } from './consents.ts';

let product: StartedProduct;
const done = 'https://app.example.com/integrated';

beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

/** An organization of its own, that may send people back to `done`. */
async function newTenant() {
  const tenant = await product.createTenant();
  await addRedirect(product.database, tenant.organizationId, done, true);
  return { ...tenant, test: apiClient(product.process.api, tenant.testKey) };
}

describe('in the sandbox', () => {
  const sendOn = async (authUrl: string) => (await visit(authUrl, product.process.api)).headers.get('location')!;

  test('an integration is listed, connected without any page, tested and disconnected', async () => {
    const { test: client } = await newTenant();
    const before = await listOf(client);
    expect(before.map(({ id }) => id)).toEqual(['slack', 'microsoft-teams', 'hubspot', 'salesforce', 'linkedin']);
    for (const one of before) {
      expect(one).toMatchObject({ connected: false, status: 'not_connected' });
      expect(Object.keys(one)).not.toContain('connectedAt');
    }
    expect(before[0].features.triggers).toEqual(['message_received', 'mention', 'reaction_added']);
    expect(before.map(({ category }) => category)).toEqual(['communication', 'communication', 'crm', 'crm', 'social']);

    const { authUrl, state, expiresIn } = await begin(client, 'slack', { redirectUrl: `${done}?tab=1` });
    const asked = new URL(authUrl);
    expect([expiresIn, asked.pathname, asked.searchParams.get('integration')]).toEqual([
      600,
      `${base}/sandbox/authorize`,
      'slack',
    ]);
    expect(state).toMatch(/^[\w-]{43}$/);
    const callback = await sendOn(authUrl);
    expect(new URL(callback).pathname).toBe(`${base}/callback`);
    const path = new URL(callback).pathname + new URL(callback).search;
    expect((await fetch(new URL(path, product.process.api), { method: 'HEAD' })).status).toBe(200);
    const back = await visit(callback, product.process.api);
    expect([back.status, back.headers.get('cache-control')]).toEqual([302, 'no-store']);
    expect(outcomeOf(back)).toEqual({ tab: '1', integration: 'slack', status: 'connected' });

    const listed = await findIn(client, 'slack');
    expect(listed).toMatchObject({ connected: true, status: 'connected', connectedAt: expect.any(String) });
    expect(listed.account).toEqual({ id: expect.stringMatching(/^\d{15}$/), name: 'Sandbox Slack' });
    expect(listed.sandbox).toEqual({
      eventsUrl: expect.stringMatching(/\/api\/v1\/integrations\/slack\/events$/),
      account: listed.account.id,
      signingSecret: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const tested = await client.post('/v1/integrations/slack/test');
    expect([tested.status, tested.body.data]).toEqual([
      200,
      {
        success: true,
        latency: expect.any(Number),
        details: { workspace: 'Sandbox Slack', user: 'sandbox-user' },
      },
    ]);

    await connectInSandbox(client, product.process.api, 'slack');
    expect((await findIn(client, 'slack')).sandbox).toEqual(listed.sandbox);
    const gone = await client.delete(`${base}/slack/connection`);
    expect(gone.body).toEqual({ success: true, data: { success: true, message: 'Slack was disconnected.' } });
    expect(await findIn(client, 'slack')).toEqual(before[0]);
    for (const request of [client.delete(`${base}/slack/connection`), client.post(`${base}/slack/test`)]) {
      expect((await request).body.error).toMatchObject({
        code: 'not_connected',
        details: { integrationId: 'slack' },
      });
    }
  });

  test.each([
    ['disconnected', 'not_connected'],
    ['connected again', 'connected'],
  ])('an integration whose access ends at the same moment is %s all the same', async (change, status) => {
    const { test: client, organizationId } = await newTenant();
    await connectInSandbox(client, product.process.api, 'slack');
    const callback = await sendOn((await begin(client, 'slack')).authUrl);
    const own = `where organization_id = '${organizationIds.parse(organizationId)}'`;
    // The end of access changes the tokens, and then the connection.
    const { changing } = await whileHeld(
      product,
      `update oauth_connection set version = version + 1 ${own}`,
      async (end) => {
        const begun =
          change === 'disconnected' ? client.delete(`${base}/slack/connection`) : visit(callback, product.process.api);
        const waiting = 'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';
        await until('it waits for that', async () => (await end.query(waiting)).rows.length > 0);
        await end.query(`update integration_connection set status = 'auth_expired' ${own}`);
        await end.query('commit');
        return { changing: begun };
      },
    );
    expect((await changing).status).toBe(200);
    expect((await findIn(client, 'slack')).status).toBe(status);
  });

  test('each of them is connected in the same way; one that sends no events has no address for them', async () => {
    const { test: client } = await newTenant();
    for (const { id } of await listOf(client)) await connectInSandbox(client, product.process.api, id);
    const all = await listOf(client);
    expect(all.filter(({ connected }) => connected)).toHaveLength(5);
    expect(all.filter(({ sandbox }) => sandbox === undefined).map(({ id }) => id)).toEqual(['salesforce']);
    expect(new Set(all.map(({ account }) => account.id)).size).toBe(5);
    const { rows } = await product.database.pool.query(
      'select sealed_sandbox_secret as sealed from integration_connection where account_id = $1',
      [all[0].account.id],
    );
    expect(rows).toEqual([{ sealed: expect.stringMatching(/^v1:/) }]);
  });

  test('a refusal is sent to the address, or shown on a page', async () => {
    const { test: client } = await newTenant();
    const withPage = await visit(
      await sendOn(`${(await begin(client, 'hubspot')).authUrl}&deny=true`),
      product.process.api,
    );
    expect([withPage.status, await withPage.text()]).toEqual([400, expect.stringMatching('refused')]);
    const { authUrl } = await begin(client, 'hubspot', { redirectUrl: `${done}?status=x` });
    const callback = await sendOn(`${authUrl}&deny=true`);
    expect(outcomeOf(await visit(callback, product.process.api))).toEqual({
      integration: 'hubspot',
      status: 'error',
      error: 'access_denied',
    });
    expect((await visit(callback, product.process.api)).status).toBe(400);
    expect((await findIn(client, 'hubspot')).connected).toBe(false);
  });

  test.each([
    ['slack', { scopes: ['chat:write', 'nothing'] }, 400, 'scopes.1'],
    ['slack', { scopes: [] }, 400, 'scopes'],
    ['slack', { redirectUrl: 'https://evil.example/' }, 400, 'redirectUrl'],
    ['slack', { redirectUrl: `${done}#x` }, 400, 'redirectUrl'],
    ['slack', { redirectUrl: `${done}/..//evil` }, 400, 'redirectUrl'],
    ['slack', { redirectUrl: 'https://app.example.com@evil.example/integrated' }, 400, 'redirectUrl'],
    ['nothing', {}, 404, undefined],
  ])('%s: %j is refused', async (id, body, status, path) => {
    const { test: client } = await newTenant();
    const answer = await client.post(`${base}/${id}/connect`, body);
    expect([answer.status, answer.body.error.details.errors?.[0].path]).toEqual([status, path]);
  });

  test('an unknown integration and one that is not connected are refused in both dialects', async () => {
    const { test: client } = await newTenant();
    const ask = async (id: string, variant: string) =>
      (await client.post(`/v1/integrations/${id}/test`, undefined, { 'x-api-variant': variant })).body;
    expect(await ask('x', 'A')).toMatchObject({
      error: { code: 'integration_not_found', details: { integrationId: 'x' } },
    });
    expect(await ask('x', 'B')).toMatchObject({ success: false, error: { code: 'INTEGRATION_NOT_FOUND' } });
    expect(await ask('slack', 'B')).toMatchObject({ success: false, error: { code: 'NOT_CONNECTED' } });
  });

  test('its page answers to nothing but the question that it was opened for', async () => {
    const { test: client } = await newTenant();
    const { authUrl } = await begin(client, 'slack');
    const refuse = async (name: string, value: string) => {
      const url = new URL(authUrl);
      url.searchParams.set(name, value);
      const answer = await visit(url, product.process.api);
      return [answer.status, answer.headers.get('location')];
    };
    expect(await refuse('redirect_uri', 'https://evil.example/')).toEqual([400, null]);
    expect(await refuse('state', 'x'.repeat(43))).toEqual([400, null]);
    expect(await refuse('integration', 'hubspot')).toEqual([400, null]);
    const calendar = (await client.post('/api/v1/scheduling/calendars/connect', { service: 'google' })).body.data;
    expect(await refuse('state', calendar.state)).toEqual([400, null]);
  });

  test('an answer is taken once, for its own feature, and shows nothing of what was sent', async () => {
    const { test: client } = await newTenant();
    const calendars = '/api/v1/scheduling/calendars/callback';
    const callback = new URL(await sendOn((await begin(client, 'slack')).authUrl));
    expect((await visit(`http://x${calendars}${callback.search}`, product.process.api)).status).toBe(400);
    expect((await visit(callback, product.process.api)).status).toBe(400);
    const { state } = (await client.post('/api/v1/scheduling/calendars/connect', { service: 'google' })).body.data;
    for (const query of [`state=${state}&code=x`, 'state=<script>&code=<b>', 'code=x', '']) {
      const shown = await visit(`http://x/v1/integrations/callback?${query}`, product.process.api);
      expect([shown.status, shown.headers.get('content-type')]).toEqual([400, 'text/html; charset=UTF-8']);
      expect(await shown.text()).not.toMatch(/<script>|<b>/);
    }
    const answer = await visit(`http://x${base}/callback?state=x`, product.process.api, { accept: 'application/json' });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'validation_error', details: { errors: [{ path: 'state' }] } } },
    ]);
    expect((await findIn(client, 'slack')).connected).toBe(false);
    // The code of one question is worth nothing with the state of another.
    const [one, other] = [await begin(client, 'slack'), await begin(client, 'slack', { redirectUrl: done })];
    const code = new URL(await sendOn(one.authUrl)).searchParams.get('code')!;
    const mixed = await visit(`http://x${base}/callback?code=${code}&state=${other.state}`, product.process.api);
    expect(outcomeOf(mixed)).toMatchObject({ status: 'error', error: 'exchange_failed' });
    // Nor is one that comes twice, or with an error beside it: no provider's answer has either.
    for (const more of ['&code=another', '&error=server_error', '&error=access_denied&error=']) {
      const { authUrl } = await begin(client, 'slack', { redirectUrl: done });
      const odd = await visit(`${await sendOn(authUrl)}${more}`, product.process.api);
      expect(outcomeOf(odd)).toMatchObject({ status: 'error', error: 'exchange_failed' });
    }
  });
});
