import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { type FakeSalesforce, startFakeSalesforce } from '../fakes/salesforce.ts';
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
let env: Record<string, string>;
/** Has the API, and stays. */
let staying: ProductProcess;
let tenant: Tenant;

beforeAll(async () => {
  salesforce = await startFakeSalesforce();
  product = await openProduct({ entryPoint: soonNoticed, env: secrets });
  env = {
    ...{ SALESFORCE_CLIENT_ID: salesforce.clientId, SALESFORCE_CLIENT_SECRET: salesforce.clientSecret },
    ...{ SALESFORCE_LOGIN_BASE_URL: salesforce.origin, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' },
  };
  staying = await product.start(['api', 'housekeeping'], env);
  tenant = await product.createTenant();
});
afterAll(async () => {
  await product.close();
  await salesforce.close();
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

test('a poll that is killed before and after its commit loses no event, and publishes none twice', async () => {
  const client = apiClient(staying.api, tenant.liveKey);
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const given = { event: 'contact_created', url: 'https://hooks.example.com/x' };
  expect((await client.post(`${base}/salesforce/webhooks`, given)).status).toBe(201);
  const { pool } = product.database;
  const cursors = async () =>
    (await pool.query('select cursor from integration_poll where organization_id = $1', [organizationId])).rows;
  // The first page gives where to begin.
  const first = await startAt('integration.poll_saved', 'integrations');
  await visit(await salesforce.consent((await begin(client, 'salesforce')).authUrl), staying.api);
  await first.ended;
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
