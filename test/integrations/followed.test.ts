import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { readResource } from '../../src/integrations/catalog/microsoft-teams-events.ts';
import { digestOf } from '../../src/integrations/inbound/publish-triggers.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type FakeSalesforce, startFakeSalesforce } from '../fakes/salesforce.ts';
import { type FakeTeams, startFakeTeams, teamsError } from '../fakes/teams.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { visit } from './connect-in-sandbox.ts';
import { base, begin, findIn } from './consents.ts';
import * as followRuns from './follow-runs.ts';

// A product of its own: a worker of another one would not have the providers' clients.
let product: Product;
let salesforce: FakeSalesforce;
let teams: FakeTeams;
let connection: Connection;
let api: string;
let client: ApiClient;
let organizationId: string;

beforeAll(async () => {
  [salesforce, teams] = await Promise.all([startFakeSalesforce(), startFakeTeams()]);
  // The product is reached at another address than the one that it publishes.
  teams.validates = false;
  product = await openProduct({ env: secrets });
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  ({ api } = await product.start(['api', 'integrations', 'housekeeping'], {
    SALESFORCE_CLIENT_ID: salesforce.clientId,
    SALESFORCE_CLIENT_SECRET: salesforce.clientSecret,
    SALESFORCE_LOGIN_BASE_URL: salesforce.origin,
    TEAMS_CLIENT_ID: teams.clientId,
    TEAMS_CLIENT_SECRET: teams.clientSecret,
    TEAMS_LOGIN_BASE_URL: teams.origin,
    TEAMS_BASE_URL: teams.origin,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
  }));
  const tenant = await product.createTenant();
  client = apiClient(api, tenant.liveKey);
  organizationId = organizationIds.parse(tenant.organizationId)!;
});
afterAll(async () => {
  await product.close();
  await Promise.all([salesforce.close(), teams.close(), connection.close()]);
});

async function connect(integrationId: string, fake: FakeSalesforce | FakeTeams): Promise<string> {
  const { authUrl } = await begin(client, integrationId);
  expect((await visit(await fake.consent(authUrl), api)).status).toBe(200);
  const sql = 'select id from integration_connection where organization_id = $1 and integration = $2';
  return (await product.database.pool.query(sql, [organizationId, integrationId])).rows[0].id;
}

async function listen(integrationId: string, event: string): Promise<string> {
  const url = 'https://hooks.example.com/x';
  const { status, body } = await client.post(`${base}/${integrationId}/webhooks`, { event, url });
  expect(status).toBe(201);
  return body.data.id;
}
/** With a webhook that may name any event. */
async function listenOrdinarily(events: string[]): Promise<string> {
  const webhook = { name: 'Ordinary', url: 'https://hooks.example.com/y', events };
  const { status, body } = await client.post('/api/v1/webhooks', webhook);
  expect(status).toBe(201);
  return body.data.id;
}
async function stopListening(integrationId: string, webhookId: string): Promise<void> {
  expect((await client.delete(`${base}/${integrationId}/webhooks/${webhookId}`)).status).toBe(200);
}
const scheduleOf = (id: string) => followRuns.scheduleOf(connection, id);
const runUntil = (what: string, id: string, isDone: () => Promise<boolean>) =>
  followRuns.runUntil(connection, id, what, isDone);
/** Temporal may start only one of two runs that are requested within one second: the next request must come later. */
const secondsGoBy = (seconds: number) => {
  const since = Math.floor(Date.now() / 1_000);
  return until('time goes by', async () => Math.floor(Date.now() / 1_000) >= since + seconds);
};
const hasSchedule = (id: string) =>
  scheduleOf(id)
    .describe()
    .then(
      () => true,
      () => false,
    );
const eventsOf = async (type: string) =>
  (
    await product.database.pool.query('select facts from event where organization_id = $1 and type = $2', [
      organizationId,
      type,
    ])
  ).rows.map(({ facts }) => facts);
const cursors = async () =>
  (
    await product.database.pool.query('select cursor from integration_poll where organization_id = $1', [
      organizationId,
    ])
  ).rows;

test('Salesforce is polled while a webhook subscribes, and each event is published once', async () => {
  salesforce.save('Contact', { LastName: 'Before' });
  const id = await connect('salesforce', salesforce);
  await until('its schedule is there', () => hasSchedule(id));
  const webhookId = await listen('salesforce', 'contact_created');
  await runUntil('it was polled', id, async () => (await cursors()).length === 1);
  const made = salesforce.save('Contact', { LastName: 'After' }, Date.now() + 1_000);
  await runUntil('the event is published', id, async () => (await eventsOf('salesforce.contact_created')).length > 0);
  const [{ cursor }] = await cursors();
  const asked = salesforce.journal.filter(({ path }) => /query/.test(path)).length;
  await runUntil(
    'it was polled again',
    id,
    async () => salesforce.journal.filter(({ path }) => /query/.test(path)).length >= asked + 2,
  );
  expect(await eventsOf('salesforce.contact_created')).toEqual([
    { integration: 'salesforce', data: { contactId: made.Id, occurredAt: expect.any(String) } },
  ]);
  expect(cursor).toEqual(expect.any(String));

  await stopListening('salesforce', webhookId);
  await runUntil('nothing is asked for', id, async () => (await cursors()).length === 0);
  // Events without subscribers are not delivered to later ones: an ordinary webhook lets it begin at once too.
  salesforce.save('Contact', { LastName: 'Meanwhile' });
  const ordinary = await listenOrdinarily(['salesforce.contact_created', 'workflow.run.completed']);
  await runUntil('it was polled', id, async () => (await cursors()).length === 1);
  const later = salesforce.save('Contact', { LastName: 'Later' }, Date.now() + 2_000);
  await runUntil('the event is published', id, async () => (await eventsOf('salesforce.contact_created')).length > 1);
  const contactIds = (await eventsOf('salesforce.contact_created')).map(({ data }) => data.contactId);
  expect(contactIds.toSorted()).toEqual([made.Id, later.Id].toSorted());
  const changed = await client.patch(`/api/v1/webhooks/${ordinary}`, { events: ['test.webhook'] });
  expect(changed.status).toBe(200);
  await runUntil('nothing is asked for any more', id, async () => (await cursors()).length === 0);
  expect((await client.delete(`/api/v1/webhooks/${ordinary}`)).status).toBe(200);
  salesforce.grants.revokeAccount('ada@example.com');
  expect((await client.post(`${base}/salesforce/test`)).body.error.code).toBe('auth_expired');
  await until('its schedule is paused', async () => (await scheduleOf(id).describe()).state.paused);
  expect(await connect('salesforce', salesforce)).toBe(id);
  await until('its schedule goes on', async () => !(await scheduleOf(id).describe()).state.paused);
  expect((await client.delete(`${base}/salesforce/connection`)).status).toBe(200);
  await until('its schedule is gone', async () => !(await hasSchedule(id)));
});

/** A subscription that a connection has, and that its account may not touch any more. */
async function addForbidden(connectionId: string): Promise<void> {
  await product.database.pool.query(
    `insert into integration_push
       (connection_id, resource, organization_id, environment, subscription_id, client_state_hash, ends_at)
     values ($1, '/teams/a/channels/left/messages', $2, 'live', 'of-a-channel-left', 'x', now() + interval '1 day')`,
    [connectionId, organizationId],
  );
}

test('subscriptions of Teams are made for the first webhook, renewed, made anew, and ended with the last one', async () => {
  let id = await connect('microsoft-teams', teams);
  await until('its schedule is there', () => hasSchedule(id));
  expect(teams.subscriptions.size).toBe(0);
  teams.post({ text: 'before' });
  // One of a channel that the account has left keeps the others from nothing.
  teams.forbidden.add('of-a-channel-left');
  await addForbidden(id);
  const webhookId = await listen('microsoft-teams', 'message_received');
  await runUntil('it is subscribed', id, async () => teams.subscriptions.size === 1);
  const [made] = [...teams.subscriptions.values()];
  expect(made!.clientState).toMatch(new RegExp(`^${id}\\.`));
  const stored = () => product.database.pool.query('select * from integration_push where connection_id = $1', [id]);
  await runUntil('it is stored', id, async () => (await stored()).rows.length === 2);
  await until('the connection says that a channel is closed to it', async () => {
    return (await findIn(client, 'microsoft-teams')).eventsError === 'Forbidden';
  });
  await product.database.pool.query("delete from integration_push where subscription_id = 'of-a-channel-left'");
  const notify = (lifecycleEvent: string, { id: subscriptionId, clientState } = made!) =>
    fetch(new URL(`${base}/microsoft-teams/events`, api), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ value: [{ subscriptionId, tenantId: teams.tenantId, clientState, lifecycleEvent }] }),
    });
  const patches = () =>
    teams.journal.filter(({ method, path }) => method === 'PATCH' && path.endsWith(made!.id)).length;
  expect((await notify('reauthorizationRequired', { ...made!, clientState: 'guessed' })).status).toBe(401);
  expect((await notify('reauthorizationRequired')).status).toBe(202);
  await runUntil('it is renewed', id, async () => patches() === 1);
  // What Microsoft could not push is asked for: what was posted since it is listened to, and each message once.
  const path = `${base}/microsoft-teams/events`;
  const texts = async () => (await eventsOf('microsoft-teams.message_received')).map(({ data }) => data.text);
  const pushed = teams.post({ text: 'pushed' });
  expect((await teams.send(`${api}${path}`, teams.notificationsOf(pushed))).status).toBe(202);
  await until('it is published', async () => (await texts()).length === 1);
  const missed = ['one', 'two', 'three'];
  for (const text of missed) teams.post({ text, ...(text === 'three' && { replyTo: pushed }) });
  expect((await notify('missed')).status).toBe(202);
  await runUntil('what was missed is published', id, async () => (await texts()).length >= 4);
  teams.subscriptions.clear();
  teams.post({ text: 'between' });
  expect((await notify('subscriptionRemoved')).status).toBe(202);
  await runUntil(
    'it is made anew',
    id,
    async () => teams.subscriptions.size === 1 && !teams.subscriptions.has(made!.id),
  );
  await until('what happened meanwhile is published', async () => (await texts()).includes('between'));
  expect((await texts()).toSorted()).toEqual([...missed, 'between', 'pushed'].toSorted());
  const hasAll = async () => (await stored()).rows.every((row) => row.missed_at === null && row.catch_up === null);
  await until('nothing is missed', hasAll);
  // A list that is longer than one run may read, that fails, and during which others are missed.
  const many = Array.from({ length: 110 }, (_, at) => `many ${at}`);
  for (const text of many) teams.post({ text });
  const lists = teams.journal.length;
  teams.laterPages.push(teamsError(503, 'ServiceUnavailable'));
  const [anew] = [...teams.subscriptions.values()];
  expect((await notify('missed', anew)).status).toBe(202);
  await until('its second page fails', async () => teams.laterPages.length === 0);
  expect((await notify('missed', anew)).status).toBe(202);
  await runUntil('both lists are read', id, hasAll);
  const asked = teams.journal.slice(lists).filter(({ path }) => path.endsWith('/messages/delta'));
  const counts = Map.groupBy(asked, ({ query }) => query.get('$skiptoken') ?? 'first');
  // The other list begins where the first one ended.
  const [first, second, ...later] = [...counts.values()].map(({ length }) => length);
  expect([first, second, ...new Set(later)]).toEqual([2, 2, 1]);
  expect(later.length).toBeGreaterThan(50);
  await until('each is published', async () => (await texts()).length >= 115);
  expect((await texts()).toSorted()).toEqual([...missed, ...many, 'between', 'pushed'].toSorted());

  await stopListening('microsoft-teams', webhookId);
  await runUntil('it is ended', id, async () => teams.subscriptions.size === 0 && (await stored()).rows.length === 0);
  await secondsGoBy(2);
  await listenOrdinarily(['*']);
  // Asked for by the webhook: the Schedule would take minutes.
  await until('it is subscribed again', async () => (await stored()).rows.length === 1);

  // An event that could not be fetched before the access ended is fetched when the account is connected again.
  teams.grants.revokeAccount('ada@example.com');
  expect((await client.post(`${base}/microsoft-teams/test`)).body.error.code).toBe('auth_expired');
  const waiting = teams.post({ text: 'waiting' });
  await product.database.pool.query(
    `insert into integration_inbound_event
       (connection_id, digest, organization_id, environment, received_at, trigger, reference)
     values ($1, $2, $3, 'live', now(), 'message_received', $4)`,
    [id, digestOf(id, `${waiting}:created`), organizationId, JSON.stringify(readResource(waiting))],
  );
  expect(await connect('microsoft-teams', teams)).toBe(id);
  await until('it is published', async () => (await texts()).includes('waiting'));

  // Another account takes its place, and what was pushed for the one before ends, whether it is found before or after.
  const [before] = [...teams.subscriptions.keys()];
  for (const table of ['integration_connection', 'oauth_connection']) {
    await product.database.pool.query(`update ${table} set account_id = 'before' where organization_id = $1`, [
      organizationId,
    ]);
  }
  teams.refusedOnce.add(before!);
  const replacing = await connect('microsoft-teams', teams);
  expect(replacing).not.toBe(id);
  await until('it has ended', async () => !teams.subscriptions.has(before!));
  expect((await stored()).rows).toEqual([]);
  await until('its schedule is gone', async () => !(await hasSchedule(id)));
  id = replacing;
  const [other] = await until('the other one is subscribed', async () => {
    const { rows } = await stored();
    return rows.length === 1 && rows;
  });
  expect(teams.subscriptions.has(other.subscription_id)).toBe(true);
  await addForbidden(id);
  teams.refusedOnce.add(other.subscription_id);
  expect((await client.delete(`${base}/microsoft-teams/connection`)).status).toBe(200);
  // One that a run makes at the same time, and records too late, ends by itself.
  expect([teams.subscriptions.has(other.subscription_id), (await stored()).rows]).toEqual([false, []]);
  await until('its schedule is gone', async () => !(await hasSchedule(id)));
});
