import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCommand } from '../../src/cli/run-command.ts';
import { tablesOfAutomations, tablesOfOrganizations } from '../../src/operations/purge-rows.ts';
import { entities } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { pathOf } from '../studio/files.ts';
import { temporalSchedule } from '../temporal-schedules.ts';
import { createThings } from '../things.ts';
import { until } from '../until.ts';

let product: Product;
let base: string;
beforeAll(async () => {
  product = await openProduct();
  const env = { ...secrets, EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128', CALENDAR_TIME_SCALE: '0.001' };
  const roles = ['api', 'runs', 'generation', 'calendars', 'integrations', 'webhooks', 'housekeeping'] as const;
  base = (await product.start([...roles], env)).api;
});
afterAll(() => product.close());

async function cli(args: string[], ask?: (question: string) => Promise<string>) {
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text);
  const variables = { DATABASE_URL: product.databaseUrl };
  const code = await runCommand([...args, '--json'], { variables, print, printError: print, ask });
  return { code, output: JSON.parse(printed[0]!) };
}
const query = (sql: string, ...values: unknown[]) => product.database.pool.query(sql, values);
const client = ({ testKey }: Tenant): ApiClient => apiClient(base, testKey);

const everyTable = entities
  .filter(({ meta }) => 'organizationId' in meta.properties)
  .map(({ meta }) => meta.tableName)
  .sort();

test('the removal of an organization knows every table', () => {
  const names = (tables: typeof tablesOfOrganizations): string[] =>
    tables.flatMap(({ name, children = [] }) => [name, ...names(children)]);
  expect([...names(tablesOfOrganizations), ...tablesOfAutomations, 'file'].sort()).toEqual(everyTable);
});

test('who deletes an organization names it twice', async () => {
  const tenant = await product.createTenant();
  const id = tenant.organizationId;
  const refused = async (args: string[], ask?: (question: string) => Promise<string>) => {
    const { code, output } = await cli(['org', 'delete', id, ...args], ask);
    expect({ code, kind: output.error.code }).toEqual({ code: 1, kind: 'validation_error' });
    return output.error.message as string;
  };
  expect(await refused([])).toBe(`Without a terminal, confirm with --yes ${id}.`);
  await refused(['--yes', (await product.createTenant()).organizationId]);
  await refused([], async () => 'Tset');
  expect((await client(tenant).get('/v1/workflows')).status).toBe(200);
  expect((await cli(['org', 'delete', id], async () => 'Test')).code).toBe(0);
  expect((await client(tenant).get('/v1/workflows')).status).toBe(401);
});

test('a deleted organization does nothing, and restored it has everything', async () => {
  const tenant = await product.createTenant();
  const api = client(tenant);
  const { id } = await makeWorkflow(api);
  await api.request('PUT', `/v1/workflows/${id}/schedule`, { cron: '0 9 * * *', timezone: 'UTC' });
  const { secret } = (await api.post(`/v1/workflows/${id}/webhook-secret`)).body.data;
  expect((await cli(['org', 'delete', tenant.organizationId, '--yes', tenant.organizationId])).code).toBe(0);
  expect((await api.get('/v1/workflows')).status).toBe(401);
  const triggered = await fetch(`${base}/v1/webhooks/${id}`, {
    method: 'POST',
    headers: { 'x-webhook-secret': secret },
  });
  expect(triggered.status).toBe(401);
  const { output } = await cli(['org', 'list']);
  const listed = output.organizations.find((one: { id: string }) => one.id === tenant.organizationId);
  expect(listed.deletedAt).toBeDefined();

  expect((await cli(['org', 'restore', tenant.organizationId])).code).toBe(0);
  expect((await api.get(`/v1/workflows/${id}`)).status).toBe(200);
  expect((await api.get(`/v1/workflows/${id}/schedule`)).body.data.cron).toBe('0 9 * * *');
  const again = await cli(['org', 'restore', tenant.organizationId]);
  expect(again).toMatchObject({ code: 1, output: { error: { code: 'conflict' } } });
});

test('after 30 days everything is gone, files and Schedules too, and nothing of others', async () => {
  const [tenant, other] = [await product.createTenant(), await product.createTenant()];
  const [api, otherApi] = [client(tenant), client(other)];
  const things = await createThings(api, product.database);
  await createThings(otherApi, product.database);
  const { url } = (await api.post('/api/studio/generate', { prompt: 'A lighthouse' })).body.data;
  expect(existsSync(pathOf(url))).toBe(true);
  const workflow = things.find(({ prefix }) => prefix.test('GET /api/v1/workflows/x'))!.id;
  const scheduleIsThere = () =>
    temporalSchedule(`schedule-${workflow}`).then(
      () => true,
      () => false,
    );
  await until('its Schedule is there', scheduleIsThere);
  const uuid = organizationIds.parse(tenant.organizationId);
  const rowsOf = async (of: string | undefined) => {
    const counts = everyTable.map(
      (table) => `select '${table}' as name, count(*)::int as count from ${table} where organization_id = $1`,
    );
    const { rows } = await query(counts.join(' union all '), of);
    return Object.fromEntries(rows.filter(({ count }) => count > 0).map(({ name, count }) => [name, count]));
  };
  const othersBefore = Object.keys(await rowsOf(organizationIds.parse(other.organizationId)));

  await cli(['org', 'delete', tenant.organizationId, '--yes', tenant.organizationId]);
  await query(`update organization set deleted_at = now() - interval '31 days' where id = $1`, uuid);
  const gone = async () => (await query('select from organization where id = $1', uuid)).rowCount === 0;
  await until('it is gone', gone, 240_000);
  expect(await rowsOf(uuid)).toEqual({});
  expect(existsSync(pathOf(url))).toBe(false);
  expect(await scheduleIsThere()).toBe(false);
  expect(Object.keys(await rowsOf(organizationIds.parse(other.organizationId)))).toEqual(
    expect.arrayContaining(othersBefore.filter((name) => name !== 'outbox')),
  );
  expect(await cli(['org', 'restore', tenant.organizationId])).toMatchObject({ code: 1 });
}, 300_000);
