import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { clock } from '../../src/platform/clock.ts';
import { statements } from '../../src/platform/database/sql.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { apiClient } from '../api-client.ts';
import { asOwner } from '../as-owner.ts';
import { advance } from '../clock.ts';
import { openProduct, type Product } from '../product.ts';

const hourMs = 3_600_000;

let product: Product;
let client: pg.Client;
beforeAll(async () => {
  product = await openProduct();
  client = new pg.Client({ connectionString: product.ownerUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await product.close();
});

describe('a test that advances its clock', () => {
  test('reaches processes of the product, those that start later, and itself', async () => {
    const [inProcess, own] = [await product.serve(), await product.start(['api'])];
    const { organizationId } = await product.createTenant();
    const expires = new Date(clock.now() + hourMs).toISOString();
    const { key } = await createKey(product.database, { organizationId, environment: 'test', expires });
    const statusAt = async ({ api }: { api: string }) => (await apiClient(api, key).get('/api/v1/workflows')).status;
    for (const one of [inProcess, own]) expect(await statusAt(one)).toBe(200);
    await advance(product, hourMs);
    for (const one of [inProcess, own, await product.start(['api'])]) expect(await statusAt(one)).toBe(401);
    expect(clock.now() - Date.now()).toBeGreaterThan(hourMs - 1_000);
  });

  test('reaches statements that are prepared, also those with a plan for all values', async () => {
    await client.query('set plan_cache_mode = force_generic_plan');
    const read = async () => {
      const { rows } = await client.query({
        name: 'offset',
        text: `select extract(epoch from atelier_now() - clock_timestamp())::float8 * 1000 as now,
                      extract(epoch from atelier_statement_now() - statement_timestamp())::float8 * 1000 as statement`,
      });
      return rows[0];
    };
    const before = await read();
    await advance(product, 5 * hourMs);
    const after = await read();
    expect(after.statement - before.statement).toBeCloseTo(5 * hourMs, -1);
    expect(after.now - before.now).toBeCloseTo(5 * hourMs, -3);
  });
});

test('PostgreSQL inlines the clock in the statements of runs and deliveries', async () => {
  // Loads the statements of all parts.
  await import('../../src/services.ts');
  const unmoved = await openProduct();
  const ofHotPaths = [...statements.values()].filter(
    ({ name, text }) => /^(run|flow|delivery|outbox)\./.test(name) && text.includes('_now()'),
  );
  expect(ofHotPaths.length).toBeGreaterThan(10);
  const plans = await Promise.all(
    ofHotPaths.map(({ text }) => asOwner(unmoved, `explain (generic_plan, verbose) ${text}`)),
  );
  const found = plans.map(({ rows }) => rows.map((row) => row['QUERY PLAN']).join('\n'));
  await unmoved.close();
  expect(found.filter((plan) => plan.includes('_now()'))).toEqual([]);
  expect(found.filter((plan) => /clock_timestamp\(\)|statement_timestamp\(\)/.test(plan)).length).toBeGreaterThan(10);
});
