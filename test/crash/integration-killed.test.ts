import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { ClientStates } from '../../src/integrations/inbound/client-states.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { type FakeSalesforce, startFakeSalesforce } from '../fakes/salesforce.ts';
import { type FakeTeams, startFakeTeams } from '../fakes/teams.ts';
import { visit } from '../integrations/connect-in-sandbox.ts';
import { base, begin, findIn } from '../integrations/consents.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let product: Product;
let salesforce: FakeSalesforce;
let teams: FakeTeams;
let env: Record<string, string>;
/** Has the API, and stays. */
let staying: ProductProcess;
let tenant: Tenant;
/** Has the role `integrations`, and serves one test after the other until it dies. */
let worker: ProductProcess;

beforeAll(async () => {
  [salesforce, teams] = await Promise.all([startFakeSalesforce(), startFakeTeams()]);
  // The product is reached at another address than the one that it publishes.
  teams.validates = false;
  product = await openProduct({ entryPoint: soonNoticed, env: secrets });
  env = {
    SALESFORCE_CLIENT_ID: salesforce.clientId,
    SALESFORCE_CLIENT_SECRET: salesforce.clientSecret,
    SALESFORCE_LOGIN_BASE_URL: salesforce.origin,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    TEAMS_CLIENT_ID: teams.clientId,
    TEAMS_CLIENT_SECRET: teams.clientSecret,
    TEAMS_LOGIN_BASE_URL: teams.origin,
    TEAMS_BASE_URL: teams.origin,
  };
  staying = await product.start(['api', 'housekeeping'], env);
  tenant = await product.createTenant();
});
afterAll(async () => {
  await product.close();
  await Promise.all([salesforce.close(), teams.close()]);
});

const startAt = (failPoint: string, role: 'api' | 'integrations') =>
  product.start([role], { ...env, FAIL_POINT: failPoint });

test.each([
  // The code is spent and its tokens are lost: nothing is connected, and the account is connected again.
  ['connection.exchanged', false],
  ['integration.connected', true],
])('a callback that is killed at %s leaves a connection or none', async (failPoint, isConnected) => {
  const client = apiClient(staying.api, (await product.createTenant()).liveKey);
  const dying = await startAt(failPoint, 'api');
  const callback = await salesforce.consent((await begin(client, 'salesforce')).authUrl);
  await expect(visit(callback, dying.api)).rejects.toThrow();
  await dying.ended;
  expect((await visit(callback, staying.api)).status).toBe(400);
  expect((await findIn(client, 'salesforce')).connected).toBe(isConnected);
  const again = await salesforce.consent((await begin(client, 'salesforce')).authUrl);
  expect((await visit(again, staying.api)).status).toBe(200);
  expect((await client.post(`${base}/salesforce/test`)).body.data).toMatchObject({ success: true });
  expect((await client.delete(`${base}/salesforce/connection`)).status).toBe(200);
});

test('what a provider was asked for is asked for again after the death of the worker: a query, and the data of an event', async () => {
  const own = await product.createTenant();
  const client = apiClient(staying.api, own.liveKey);
  for (const [id, fake] of [
    ['salesforce', salesforce],
    ['microsoft-teams', teams],
  ] as const) {
    expect((await visit(await fake.consent((await begin(client, id)).authUrl), staying.api)).status).toBe(200);
  }
  const soql = 'SELECT Id FROM Lead';
  const queries = () => salesforce.journal.filter(({ query }) => query.get('q') === soql).length;
  const first = await startAt('action.answered', 'integrations');
  const sent = client.post(`${base}/salesforce/actions/query`, { soql });
  await first.ended;
  const second = await startAt('inbound.fetched', 'integrations');
  expect((await sent).body).toMatchObject({ success: true, data: { totalSize: 0, done: true } });
  expect(queries()).toBe(2);

  // The data of the event were fetched by the one that dies.
  const { pool } = product.database;
  const organizationId = organizationIds.parse(own.organizationId)!;
  const given = { event: 'message_received', url: 'https://hooks.example.com/x' };
  expect((await client.post(`${base}/microsoft-teams/webhooks`, given)).status).toBe(201);
  const find = "select id from integration_connection where organization_id = $1 and integration = 'microsoft-teams'";
  const [{ id }] = (await pool.query(find, [organizationId])).rows;
  const clientState = new ClientStates(secrets.URL_SIGNING_KEY).of(id)!;
  const resource = teams.post({ text: 'once' });
  const notice = { subscriptionId: 'any', changeType: 'created', clientState, tenantId: teams.tenantId, resource };
  expect((await teams.send(`${staying.api}${base}/microsoft-teams/events`, [notice])).status).toBe(202);
  await second.ended;
  const events = async () => {
    const sql = "select facts->'data'->>'text' as text from event where organization_id = $1";
    return (await pool.query(sql, [organizationId])).rows;
  };
  expect(await events()).toEqual([]);
  worker = await product.start(['integrations'], env);
  await until('the event is published', async () => (await events()).length > 0);
  expect(await events()).toEqual([{ text: 'once' }]);
  const message = resource.match(/messages\('(\d+)'\)/)![1];
  const asked = teams.journal.filter(({ method, path }) => method === 'GET' && path.endsWith(`/messages/${message}`));
  expect(asked).toHaveLength(2);
  for (const integration of ['salesforce', 'microsoft-teams']) {
    expect((await client.delete(`${base}/${integration}/connection`)).status).toBe(200);
  }
});

test('a catch-up that is killed between two pages, and with a page in its hands, loses no message and delivers none twice', async () => {
  const own = await product.createTenant();
  const client = apiClient(staying.api, own.liveKey);
  const { pool } = product.database;
  const rowsOf = async (sql: string) => (await pool.query(sql, [organizationIds.parse(own.organizationId)!])).rows;
  const place = () => rowsOf('select * from integration_push where organization_id = $1');
  const keys = () => rowsOf('select digest from integration_inbound_event where organization_id = $1');
  const listening = { event: 'message_received', url: 'https://hooks.example.com/x' };
  expect((await client.post(`${base}/microsoft-teams/webhooks`, listening)).status).toBe(201);
  const { authUrl } = await begin(client, 'microsoft-teams');
  expect((await visit(await teams.consent(authUrl), staying.api)).status).toBe(200);
  await until('it is subscribed', async () => (await place()).length === 1);
  const [{ connection_id: id, subscription_id: subscriptionId }] = await place();
  const clientState = new ClientStates(secrets.URL_SIGNING_KEY).of(id)!;
  const notifyMissed = async () => {
    const notice = { subscriptionId, clientState, tenantId: teams.tenantId, lifecycleEvent: 'missed' };
    expect((await teams.send(`${staying.api}${base}/microsoft-teams/events`, [notice])).status).toBe(202);
  };
  const texts = ['one', 'two', 'three', 'four', 'five'];
  for (const text of texts) teams.post({ text });
  const asked = teams.journal.length;

  await worker.arm('integration.missed_saved');
  await notifyMissed();
  await worker.ended;
  // The first page, of two messages, and the place after it.
  const [between] = await place();
  expect([(await keys()).length, between.catch_up.cursor]).toEqual([2, expect.stringContaining('skiptoken')]);
  // Missed after the list began: it needs another one.
  teams.post({ text: 'later' });
  await notifyMissed();
  const second = await startAt('integration.missed_read', 'integrations');
  await second.ended;
  expect((await keys()).length).toBe(2);
  expect((await place())[0].catch_up).toEqual(between.catch_up);
  worker = await product.start(['integrations'], env);
  await until('all of it is read', async () => (await place())[0].missed_at === null);
  const published = () =>
    rowsOf(`select e.facts->'data'->>'text' as text, count(d.id)::int as deliveries
              from event e left join delivery d on d.event_id = e.id where e.organization_id = $1 group by e.id`);
  await until('it is published', async () => (await published()).length >= texts.length + 1);
  expect((await published()).toSorted((a, b) => a.text.localeCompare(b.text))).toEqual(
    [...texts, 'later'].toSorted().map((text) => ({ text, deliveries: 1 })),
  );
  const requests = teams.journal.slice(asked);
  const lists = requests.filter(({ path }) => path.endsWith('/messages/delta'));
  const pages = Map.groupBy(lists, ({ query }) => query.get('$skiptoken') ?? query.get('$deltatoken') ?? 'first');
  expect([...pages.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1]);
  // The page that the second process had in its hands: the replies to the two messages of the first page.
  const replies = requests.filter(({ path }) => path.endsWith('/replies'));
  const askedOf = Map.groupBy(replies, ({ path }) => path);
  expect([...askedOf.values()].map(({ length }) => length)).toEqual([2, 2, 1, 1, 1, 1]);
  expect((await client.delete(`${base}/microsoft-teams/connection`)).status).toBe(200);
});

test('a poll that is killed before and after its commit loses no event, and publishes none twice', async () => {
  const client = apiClient(staying.api, tenant.liveKey);
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const given = { event: 'contact_created', url: 'https://hooks.example.com/x' };
  expect((await client.post(`${base}/salesforce/webhooks`, given)).status).toBe(201);
  const { pool } = product.database;
  const cursors = async () =>
    (await pool.query('select cursor from integration_poll where organization_id = $1', [organizationId])).rows;
  // The first page gives where to begin.
  await worker.arm('integration.poll_saved');
  await visit(await salesforce.consent((await begin(client, 'salesforce')).authUrl), staying.api);
  await worker.ended;
  expect(await cursors()).toHaveLength(1);
  const ids = [1, 2, 3].map((at) => salesforce.save('Contact', { LastName: `${at}` }, Date.now() + at * 1_000).Id);
  const before = await cursors();
  const second = await startAt('integration.polled', 'integrations');
  await second.ended;
  expect(await cursors()).toEqual(before);
  const third = await startAt('integration.poll_saved', 'integrations');
  await third.ended;
  await product.start(['integrations'], env);
  const polls = () => salesforce.journal.filter(({ path }) => /query/.test(path)).length;
  const asked = polls();
  await until('it is polled again', async () => polls() >= asked + 2);
  const { rows } = await pool.query(
    "select facts->'data'->>'contactId' as id from event where organization_id = $1 order by 1",
    [organizationId],
  );
  expect(rows.map(({ id }) => id)).toEqual(ids.toSorted());
});
