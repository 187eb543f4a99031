import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { failPoint } from '../../src/operations/fail-points.ts';
import { entities } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deleteOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { pathOf } from '../studio/files.ts';
import { createThings } from '../things.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(900_000);

const roles = ['api', 'runs', 'generation', 'calendars', 'integrations', 'webhooks', 'housekeeping'] as const;

let product: Product;
let connection: Connection;
beforeAll(async () => {
  const env = { ...secrets, EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128', CALENDAR_TIME_SCALE: '0.001' };
  product = await openProduct({ entryPoint: soonNoticed, env });
  connection = await Connection.connect({ address: runningServers().temporalAddress });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

const tables = entities.filter(({ meta }) => 'organizationId' in meta.properties).map(({ meta }) => meta.tableName);
/** Names of tables that have rows of an organization, with how many. */
async function rowsOf(organizationId: string): Promise<Record<string, number>> {
  const counts = tables.map(
    (table) => `select '${table}' as name, count(*)::int as count from ${table} where organization_id = $1`,
  );
  const { rows } = await product.database.pool.query(counts.join(' union all '), [organizationId]);
  return Object.fromEntries(rows.filter(({ count }) => count > 0).map(({ name, count }) => [name, count]));
}

test('processes that die while they remove an organization leave nothing of it, and everything of another', async () => {
  const first = await product.start([...roles]);
  const [tenant, other] = [await product.createTenant(), await product.createTenant()];
  const [api, otherApi] = [apiClient(first.api, tenant.testKey), apiClient(first.api, other.testKey)];
  await createThings(api, product.database);
  await createThings(otherApi, product.database);
  const generate = async (of: typeof api) =>
    (await of.post('/api/studio/generate', { prompt: 'A lighthouse' })).body.data.url as string;
  const [url, otherUrl] = [await generate(api), await generate(otherApi)];
  const [uuid, otherUuid] = [tenant, other].map(({ organizationId }) => organizationIds.parse(organizationId)!);
  // What is done after the answers adds rows too.
  await until('nothing is owed', async () => (await product.database.pool.query('select from outbox')).rowCount === 0);
  const before = await rowsOf(otherUuid!);

  await deleteOrganization(product.database, tenant.organizationId);
  await first.stop();
  const { pool } = product.database;
  /** Whether its removal is due: a process that starts must not be done with it before it is armed. */
  const setDue = (isDue: boolean) =>
    pool.query(
      `update organization set purging_at = null, deleted_at = now() - make_interval(days => $2) where id = $1`,
      [uuid, isDue ? 31 : 1],
    );
  const housekeeping = new Client({ connection }).schedule.getHandle(`${product.taskQueuePrefix}housekeeping`);
  let triggeredAt = 0;
  /** Runs the sweeps, every few seconds. Also when they run already. */
  const trigger = async () => {
    if (performance.now() < triggeredAt + 3_000) return;
    triggeredAt = performance.now();
    await housekeeping.trigger().catch(() => {});
  };
  for (const point of failPoint.names) {
    await setDue(false);
    const victim = await product.start([...roles]);
    await victim.arm(point);
    await setDue(true);
    let isDead = false;
    void victim.ended.then(() => {
      isDead = true;
    });
    const dies = async () => {
      if (!isDead) await trigger();
      return isDead;
    };
    await until(`it dies at ${point}`, dies, 120_000);
    expect((await pool.query('select from organization where id = $1', [uuid])).rowCount).toBe(1);
  }

  await product.start([...roles]);
  const isGone = async () => {
    await trigger();
    return (await pool.query('select from organization where id = $1', [uuid])).rowCount === 0;
  };
  await until('it is gone', isGone, 240_000);
  expect(await rowsOf(uuid!)).toEqual({});
  expect(existsSync(pathOf(url))).toBe(false);
  expect(existsSync(pathOf(otherUrl))).toBe(true);
  const stays = ([name]: [string, number]) =>
    !['outbox', 'idempotency', 'usage_month', 'usage_count', 'audit_log'].includes(name);
  const after = await rowsOf(otherUuid!);
  for (const [name, count] of Object.entries(before).filter(stays)) {
    expect({ name, count: after[name] }).toEqual({ name, count });
  }
});
