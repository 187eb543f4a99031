import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { inboundSecrets } from '../shared-products.ts';
import { until } from '../until.ts';
import { addConnection } from './connection-rows.ts';
import { eventsScene, eventsUrl, newAccount, readPayload } from './events-scene.ts';
import { providerEvents } from './provider-events.ts';

const { slack, hubspot, teams } = providerEvents;
const { SLACK_SIGNING_SECRET: slackSecret, HUBSPOT_CLIENT_SECRET: hubspotSecret } = inboundSecrets;

const scene = eventsScene();

describe('an event of a provider', () => {
  test('reaches the webhooks of its integration, signed in the body, and others in the ordinary form', async () => {
    const team = newAccount();
    await scene.connect('slack', team);
    const own = await scene.listen('slack', 'message_received');
    const mentions = await scene.listen('slack', 'mention');
    await scene.live.post('/v1/webhooks', {
      name: 'All',
      url: scene.receiver.url('/ordinary'),
      events: ['slack.message_received'],
    });
    const events = slack.sign(slackSecret, slack.message(team, 'Ev1', 'all \u0000 is \ud800 well'));
    expect(await scene.send('slack', events)).toMatchObject({
      status: 200,
      body: { received: true },
    });
    const [delivered] = await scene.receiver.has(own.path, 1);
    const payload = readPayload(delivered!, own.secret);
    expect(payload).toMatchObject({
      type: 'slack.message_received',
      integration: 'slack',
      data: { channel: 'C1', user: 'U1', text: 'all \ufffd is \ufffd well', ts: '1503435956.000247' },
    });
    expect(payload.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [ordinary] = await scene.receiver.has('/ordinary', 1);
    expect(JSON.parse(ordinary!.body)).toEqual({
      id: payload.id,
      type: payload.type,
      createdAt: payload.timestamp,
      data: { integration: 'slack', ...payload.data },
    });
    // The same one again, signed anew; and one without subscribers.
    await scene.send('slack', slack.sign(slackSecret, slack.message(team, 'Ev1')));
    await scene.send('slack', slack.sign(slackSecret, slack.message(team, 'Ev2', 'next')));
    const all = await scene.receiver.has(own.path, 2);
    expect(all.map((one) => readPayload(one, own.secret).data.text)).toEqual([payload.data.text, 'next']);
    expect(scene.receiver.to(mentions.path)).toEqual([]);
    const { body } = await scene.live.get(`/v1/webhooks/${own.id}/deliveries`);
    const { id } = body.data.deliveries.at(-1);
    await until('it is delivered', async () => {
      const { data } = (await scene.live.get(`/v1/webhooks/${own.id}/deliveries/${id}`)).body;
      return data.status === 'delivered' && data;
    }).then(({ requestBody }) => expect(requestBody).toBe(delivered!.body));
  });

  test('goes to every tenant that connected the account, and to no other', async () => {
    const team = newAccount();
    const [one, two, apart] = await Promise.all(
      [1, 2, 3].map(() => scene.product.createTenant({ plan: 'enterprise' })),
    );
    await Promise.all([
      scene.connect('slack', team, one),
      scene.connect('slack', team, two),
      scene.connect('slack', newAccount(), apart),
    ]);
    const clients = [one, two, apart].map((tenant) => apiClient(scene.process.api, tenant!.liveKey));
    const hooks = [];
    for (const client of clients) hooks.push(await scene.listen('slack', 'message_received', client));
    const test = await scene.listen('slack', 'message_received', apiClient(scene.process.api, one!.testKey));
    await scene.send('slack', slack.sign(slackSecret, slack.message(team, 'Ev1')));
    await Promise.all(hooks.slice(0, 2).map(({ path }) => scene.receiver.has(path, 1)));
    for (const { path } of [hooks[2]!, test]) expect(scene.receiver.to(path)).toEqual([]);
  });

  test('that says that the app was uninstalled ends the access of every tenant, once, and not what came later', async () => {
    const team = newAccount();
    const tenants = await Promise.all([1, 2].map(() => scene.product.createTenant()));
    for (const tenant of tenants) {
      await scene.connect('slack', team, tenant);
      const webhook = { name: 'Ends', url: scene.receiver.url('/ends'), events: ['integration.auth_expired'] };
      expect((await apiClient(scene.process.api, tenant.liveKey).post('/v1/webhooks', webhook)).status).toBe(201);
    }
    const ids = tenants.map(({ organizationId }) => organizationIds.parse(organizationId));
    const { pool } = scene.product.database;
    const now = Math.ceil(Date.now() / 1_000);
    const send = async (id: string, event: object, at = now) => {
      const message = { ...slack.message(team, id), event, event_time: at };
      expect(await scene.send('slack', slack.sign(slackSecret, message))).toMatchObject({ status: 200 });
    };
    const states = async () => {
      const sql = 'select status from integration_connection where organization_id = any($1)';
      return (await pool.query(sql, [ids])).rows.map(({ status }) => status);
    };
    // One is from before they were connected, the other revokes tokens of people.
    await send('Ev1', { type: 'app_uninstalled' }, now - 60);
    await send('Ev2', { type: 'tokens_revoked', tokens: { oauth: ['U1'] } });
    expect(await states()).toEqual(['connected', 'connected']);
    await send('Ev3', { type: 'tokens_revoked', tokens: { bot: ['UBOT'] } });
    await send('Ev4', { type: 'app_uninstalled' });
    expect(await states()).toEqual(['auth_expired', 'auth_expired']);
    const events =
      "select type, facts from event where organization_id = any($1) and type = 'integration.auth_expired'";
    expect((await pool.query(events, [ids])).rows).toEqual(
      Array(2).fill({ type: 'integration.auth_expired', facts: { integration: 'slack' } }),
    );
  });

  test('without subscribers, or of an unconnected account, is acknowledged and leaves no trace', async () => {
    const [team, portal] = [newAccount(), newAccount()];
    const tenant = await scene.product.createTenant();
    const connectionId = await scene.connect('slack', team, tenant);
    expect(await scene.send('slack', slack.sign(slackSecret, slack.message(team, 'Ev1')))).toMatchObject({
      status: 200,
    });
    const unknown = hubspot.sign(hubspotSecret, [hubspot.contact(Number(portal), 1)], eventsUrl('hubspot'));
    expect(await scene.send('hubspot', unknown)).toMatchObject({ status: 200 });
    const { rows } = await scene.product.database.pool.query(
      `select 1 from event where organization_id = $1 union all
       select 1 from integration_inbound_event where connection_id = $2`,
      [organizationIds.parse(tenant.organizationId), connectionId],
    );
    expect(rows).toEqual([]);
  });

  test('comes by thousands, twice and at the same time, and is delivered once', async () => {
    const portal = newAccount();
    await scene.connect('hubspot', portal);
    const hook = await scene.listen('hubspot', 'contact_created');
    const burst = Array.from({ length: 1_000 }, (_, index) => hubspot.contact(Number(portal), index));
    const signed = (events: object[]) => hubspot.sign(hubspotSecret, events, eventsUrl('hubspot'));
    const answers = await Promise.all([
      scene.send('hubspot', signed(burst)),
      scene.send('hubspot', signed([...burst].reverse())),
      scene.send('hubspot', signed([...burst.slice(0, 500), ...burst.slice(0, 500)])),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const count = async () => {
      const { rows } = await scene.product.database.pool.query(
        `select count(*)::int as events, count(distinct facts -> 'data' ->> 'contactId')::int as contacts from event
          where organization_id = $1 and type = 'hubspot.contact_created'`,
        [organizationIds.parse(scene.tenant.organizationId)],
      );
      return rows[0];
    };
    expect(await count()).toEqual({ events: 1_000, contacts: 1_000 });
    const received = await scene.receiver.has(hook.path, 1_000);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1_000);
    expect(received).toHaveLength(1_000);
  });
});

describe('the sandbox', () => {
  const sandbox = async (accountId: string) => {
    const tenant = await scene.product.createTenant({ plan: 'enterprise' });
    const secret = randomBytes(32).toString('hex');
    for (const integration of ['slack', 'microsoft-teams', 'hubspot']) {
      await addConnection(scene.product.database, {
        organizationId: tenant.organizationId,
        environment: 'test',
        integration,
        accountId,
        secret,
      });
    }
    return { tenant, secret, api: apiClient(scene.process.api, tenant.testKey) };
  };

  test('takes events that are signed with its own secret, and no others', async () => {
    const [account, others] = [newAccount(), newAccount()];
    const [mine, other] = [await sandbox(account), await sandbox(others)];
    const hook = await scene.listen('slack', 'message_received', mine.api);
    const message = (id: string, team = account) => slack.message(team, id);
    expect(await scene.send('slack', slack.sign(mine.secret, message('Ev1')))).toMatchObject({ status: 200 });
    const [delivered] = await scene.receiver.has(hook.path, 1);
    expect(readPayload(delivered!, hook.secret).data.text).toBe('hello');
    for (const forged of [
      slack.sign(other.secret, message('Ev2')),
      slack.sign(mine.secret, message('Ev2', others)),
      slack.sign(mine.secret, message('Ev2'), Date.now() - 301_000),
    ]) {
      expect(await scene.send('slack', forged)).toMatchObject({ status: 401 });
    }
    // Slack's own secret says nothing about a sandbox: the account is none of Slack's.
    expect(await scene.send('slack', slack.sign(slackSecret, message('Ev3')))).toMatchObject({ status: 200 });
    const challenge = { type: 'url_verification', challenge: 'abc', token: 'x', team_id: account };
    expect(await scene.send('slack', slack.sign(mine.secret, challenge))).toMatchObject({ body: { challenge: 'abc' } });
    expect(await scene.send('slack', slack.sign(other.secret, challenge))).toMatchObject({ status: 401 });
    const state = teams.notify(
      teams.message(account, mine.secret, '17', {
        body: { contentType: 'text', content: 'hi' },
        from: { user: { id: 'u1' } },
      }),
    );
    const teamsHook = await scene.listen('microsoft-teams', 'message_received', mine.api);
    expect(await scene.send('microsoft-teams', state)).toMatchObject({ status: 202 });
    const [fromTeams] = await scene.receiver.has(teamsHook.path, 1);
    expect(readPayload(fromTeams!, teamsHook.secret).data).toMatchObject({ user: 'u1', text: 'hi' });
    const wrong = teams.notify(teams.message(account, other.secret, '18'));
    expect(await scene.send('microsoft-teams', wrong)).toMatchObject({ status: 401 });
    const portals = [hubspot.contact(Number(account), 1), hubspot.contact(Number(others), 2)];
    expect(await scene.send('hubspot', hubspot.sign(mine.secret, portals, eventsUrl('hubspot')))).toMatchObject({
      status: 401,
    });
    expect(scene.receiver.to(hook.path)).toHaveLength(1);
  });

  test('lets events happen without a provider', async () => {
    const { api, tenant } = await sandbox(newAccount());
    const hook = await scene.listen('hubspot', 'contact_created', api);
    const data = { contactId: '51', occurredAt: '2026-11-20T09:30:00.000Z' };
    const path = '/v1/integrations/hubspot/triggers/contact_created';
    const answer = await api.post(path, data);
    expect(answer).toMatchObject({ status: 202, body: { data: { eventId: expect.stringMatching(/^evt_/) } } });
    const [delivered] = await scene.receiver.has(hook.path, 1);
    expect(readPayload(delivered!, hook.secret)).toMatchObject({ id: answer.body.data.eventId, data });
    expect(await api.post('/v1/integrations/hubspot/triggers/deal_updated', { dealId: 1 })).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error' } },
    });
    for (const event of ['message_received', 'constructor', '__proto__']) {
      expect((await api.post(`/v1/integrations/hubspot/triggers/${event}`, data)).status).toBe(404);
    }
    const withLiveKey = apiClient(scene.process.api, tenant.liveKey);
    expect((await withLiveKey.post(path, data)).status).toBe(404);
    const { testKey } = await scene.product.createTenant();
    expect(await apiClient(scene.process.api, testKey).post(path, data)).toMatchObject({
      status: 409,
      body: { error: { code: 'not_connected', details: { integrationId: 'hubspot' } } },
    });
  });
});

test('hostile bodies cost little and are refused', async () => {
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
  const bodies = [
    '',
    '{',
    'null',
    '[]',
    '{}',
    '"x"',
    deep,
    `[${'0,'.repeat(400_000)}0]`,
    JSON.stringify(Array.from({ length: 5_000 }, (_, index) => hubspot.contact(7, index))),
    '[{"__proto__":{"eventId":1},"constructor":{"prototype":{}}}]',
  ];
  const url = eventsUrl('hubspot');
  for (const body of bodies) {
    const at = String(Date.now());
    const signature = createHmac('sha256', hubspotSecret).update(`POST${url}${body}${at}`).digest('base64');
    const headers = { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': at };
    expect(await scene.send('hubspot', { body, headers })).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error' } },
    });
    const unsigned = { body, headers: { 'content-type': 'application/json' } };
    for (const integration of ['hubspot', 'slack', 'microsoft-teams']) {
      // What Teams sends is read before its proof, and small.
      const isTooLarge = integration === 'microsoft-teams' && body.length > 65_536;
      expect((await scene.send(integration, unsigned)).status).toBe(isTooLarge ? 413 : 401);
    }
  }
  const signed = { 'x-hubspot-signature-v3': 'x'.repeat(44), 'x-hubspot-request-timestamp': String(Date.now()) };
  const large = { body: ' '.repeat(1_048_577), headers: signed };
  expect([401, 413]).toContain((await scene.send('hubspot', large)).status);
  for (const integration of ['salesforce', 'unknown', 'constructor']) {
    expect(await scene.send(integration, { body: '{}', headers: {} })).toMatchObject({ status: 404 });
  }
});
