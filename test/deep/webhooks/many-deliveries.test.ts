import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { webhookFilters } from '../../../src/automation/events/webhook-filters.ts';
import { Scope } from '../../../src/platform/database/scope.ts';
import { statements } from '../../../src/platform/database/sql.ts';
import { declared } from '../../../src/platform/parts/declared-parts.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { deliveryStatuses } from '../../../src/webhooks/core/delivery-status.ts';
import { deliveryIds, recoveryIds, webhookIds } from '../../../src/webhooks/core/ids.ts';
import { sweepDeliveryBlocks } from '../../../src/webhooks/deliveries/delivery-blocks.ts';
import { continueRecovery } from '../../../src/webhooks/deliveries/recovery.ts';
import { forgetOldDeliveries } from '../../../src/webhooks/deliveries/retention.ts';
// Declares the statements.
import '../../../src/webhooks/deliveries/delivery-list.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { openBoundedWork } from '../../platform/open-bounded-work.ts';
import { openProduct, type Product } from '../../product.ts';
import { until } from '../../until.ts';
import { analyze, perBlock, seedDeliveries, types } from '../../webhooks/many-rows.ts';

// There is no worker: the test itself makes everything happen that changes a delivery.
let product: Product;
let api: ApiClient;
let organizationId: string;
let apiUrl: string;
beforeAll(async () => {
  product = await openProduct();
  const [{ api: url }, tenant] = [await product.start(['api']), await product.createTenant({ plan: 'enterprise' })];
  apiUrl = url;
  api = apiClient(url, tenant.testKey);
  organizationId = organizationIds.parse(tenant.organizationId)!;
});
afterAll(() => product.close());

const ask = (text: string, values: unknown[] = []) => product.database.pool.query(text, values);
async function makeWebhook(client = api): Promise<string> {
  const given = { name: 'Busy', url: 'https://hooks.example.com', events: ['*'] };
  return (await client.post('/v1/webhooks', given)).body.data.id;
}

async function seed(webhook: string, count: number, old: number): Promise<void> {
  await seedDeliveries(product.database, webhook, count, old);
  await analyze(product);
}

interface Row {
  id: string;
  status: string;
  type: string;
}

/** All deliveries, newest first, read one by one. */
async function read(webhook: string): Promise<Row[]> {
  const { rows } = await ask(
    `select d.id, d.status, e.type from delivery d join event e on e.id = coalesce(d.resent_event_id, d.event_id)
      where subscription_id = $1 order by d.created_at desc, d.id desc`,
    [webhookIds.parse(webhook)],
  );
  return rows;
}

const list = async (webhook: string, query: object) =>
  (await api.get(`/v1/webhooks/${webhook}/deliveries?${new URLSearchParams(query as Record<string, string>)}`)).body
    .data;

const everyFilter = [undefined, ...types].flatMap((type) =>
  [undefined, ...deliveryStatuses].map((status) => ({ type, status })),
);

let round = 0;

/** Every filter and combination shows the right total and page: at the beginning, in the middle or at the end. */
async function expectLists(webhook: string): Promise<void> {
  const rows = await read(webhook);
  for (const { type, status } of everyFilter) {
    const expected = rows.filter((row) => row.status === (status ?? row.status) && row.type === (type ?? row.type));
    const filter = { ...(type && { eventType: type }), ...(status && { status }) };
    const offset = Math.max(0, Math.floor((expected.length * (round++ % 5)) / 4) - 3);
    const page = await list(webhook, { ...filter, limit: '10', offset: String(offset) });
    const shown = { ...filter, offset, total: page.pagination.total, ids: page.deliveries.map((one: Row) => one.id) };
    const ids = expected.slice(offset, offset + 10).map(({ id }) => deliveryIds.format(id));
    expect(shown).toEqual({ ...filter, offset, total: expected.length, ids });
  }
}

/** Counts the blocks. Transactions of other tests that are open at this moment delay some. */
const sweep = () =>
  until('all blocks are counted', async () => {
    await sweepDeliveryBlocks(product.database);
    return (await ask('select from delivery_block where not is_counted')).rowCount === 0;
  });

const waiting = async () => (await ask('select count(*)::int as n from delivery_change')).rows[0].n;

interface Node {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Node[];
}

/** How many deliveries and events PostgreSQL reads to answer, as the tenant. */
async function rowsRead(name: string, values: unknown[]): Promise<number> {
  const client = await product.database.pool.connect();
  try {
    await client.query('begin');
    await client.query('set local role atelier_tenant');
    await client.query(
      `select set_config('atelier.organization_id', $1, true), set_config('atelier.environment', 'test', true)`,
      [organizationId],
    );
    const { rows } = await client.query(`explain (analyze, format json) ${statements.get(name)?.text}`, values);
    const count = (node: Node): number =>
      (['delivery', 'event'].includes(node['Relation Name'] ?? '')
        ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
        : 0) + (node.Plans ?? []).reduce((sum, child) => sum + count(child), 0);
    return count(rows[0]['QUERY PLAN'][0].Plan);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

test('pages and totals are right for every filter while deliveries come, change, are replayed and removed', async () => {
  const webhook = await makeWebhook();
  await seed(webhook, 3_000, 1_000);
  await expectLists(webhook);
  await sweep();
  const { rows } = await ask('select count(*)::int as n from delivery_block');
  expect(rows[0].n).toBe(3_000 / perBlock);
  await expectLists(webhook);

  // Changes in blocks that are counted: lists read the notes of them until they are added.
  await ask(
    `update delivery set status = 'delivered' where status = 'pending' and get_byte(uuid_send(event_id), 15) < 128`,
  );
  await ask(
    `update delivery set status = 'dead_lettered' where status = 'retrying' and get_byte(uuid_send(event_id), 15) < 64`,
  );
  const { deliveries: dead } = await list(webhook, { status: 'dead_lettered', limit: '40', offset: '20' });
  for (const { id } of dead.slice(0, 5)) {
    expect((await api.post(`/v1/webhooks/${webhook}/deliveries/${id}/replay`)).status).toBe(202);
    expect((await api.post(`/v1/webhooks/${webhook}/deliveries/${id}/resend`)).status).toBe(202);
  }
  const noted = await waiting();
  expect(noted).toBeGreaterThan(100);
  await expectLists(webhook);
  await sweep();
  expect(await waiting()).toBe(0);
  await expectLists(webhook);

  // Old ones are removed, block by block.
  await ask(
    `with oldest as (select id from delivery where created_at < now() - interval '91 days' and status = 'delivered'
                    order by created_at, id limit 400),
          attempts as (delete from delivery_attempt where delivery_id in (select id from oldest))
     delete from delivery where id in (select id from oldest)`,
  );
  await expectLists(webhook);
  await sweep();
  await ask(`update organization set plan = 'pro'`);
  expect(await forgetOldDeliveries(product.database)).toBeGreaterThan(0);
  await sweep();
  await expectLists(webhook);
  // Open ones are not removed, so their blocks stay too.
  await ask(`delete from delivery where created_at < now() - interval '91 days'`);
  await sweep();
  expect((await ask(`select from delivery_block where ends_at < now() - interval '91 days'`)).rowCount).toBe(0);
  await expectLists(webhook);
});

test('no change is lost while blocks are being counted', async () => {
  const webhook = await makeWebhook();
  await seed(webhook, 1_500, 0);
  const subscription = webhookIds.parse(webhook);
  let isOver = false;
  const keepSweeping = (async () => {
    while (!isOver) await sweepDeliveryBlocks(product.database);
  })();
  const totals = new Set<number>();
  const change = async (nth: number) => {
    for (let round = 0; round < 12; round++) {
      const to = deliveryStatuses[(nth + round) % deliveryStatuses.length];
      await ask(
        `update delivery set status = $2 where id in (
           select id from delivery where subscription_id = $1 and get_byte(uuid_send(event_id), 15) % 4 = $3::int
            order by random() limit 60 for update skip locked)`,
        [subscription, to, nth],
      );
      totals.add((await list(webhook, { limit: '1' })).pagination.total);
    }
  };
  await Promise.all([0, 1, 2, 3].map(change));
  isOver = true;
  await keepSweeping;
  expect([...totals]).toEqual([1_500]);
  await sweep();
  expect(await waiting()).toBe(0);
  await expectLists(webhook);
});

test('a list reads what it shows and a row for each block, whatever the filter', async () => {
  const webhook = await makeWebhook();
  await seed(webhook, 10_000, 0);
  await sweep();
  await analyze(product);
  const of = [organizationId, 'test', webhookIds.parse(webhook)];
  for (const [kind, values] of [
    ['', []],
    ['_of_status', ['delivered']],
    ['_of_status', ['failed']],
    ['_of_type', [types[2]]],
    ['_of_type_and_status', ['pending', types[1]]],
    ['_of_type_and_status', ['failed', types[0]]],
  ] as const) {
    const read = {
      total: await rowsRead(`delivery.marks${kind}`, [...of, ...values, 3]),
      page: await rowsRead(`delivery.page${kind}`, [...of, ...values, 'infinity', of[2], 50, 0]),
    };
    // What is not in a block yet is counted; a page of 50 looks at 50 of each type or state, and reads their events.
    expect({ kind, values, isBounded: (read.total < 2 * perBlock && read.page < 600) || read }).toEqual({
      kind,
      values,
      isBounded: true,
    });
  }
});

/** Creates a tenant with a webhook that is older than the oldest delivery. */
async function newTenant(): Promise<{ client: ApiClient; organizationId: string; webhook: string }> {
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const client = apiClient(apiUrl, tenant.testKey);
  const webhook = await makeWebhook(client);
  await ask(`update webhook_subscription set created_at = now() - interval '95 days' where id = $1`, [
    webhookIds.parse(webhook),
  ]);
  return { client, organizationId: organizationIds.parse(tenant.organizationId)!, webhook };
}

const countBy = async (client: ApiClient, webhook: string, status: string): Promise<number> =>
  (await client.get(`/v1/webhooks/${webhook}/deliveries?limit=1&status=${status}`)).body.data.pagination.total;

test('a recovery of many is done in parts, from several processes, and each delivery once', async () => {
  const { client, organizationId: id, webhook } = await newTenant();
  await seed(webhook, 5_000, 0);
  const subscription = webhookIds.parse(webhook);
  // Every fifth event was missed; the other deliveries are dead letters, of which one is dead-lettered again meanwhile.
  await ask(
    `with missed as (
       select id from (select id, row_number() over (order by id) as n from delivery where subscription_id = $1) d where n % 5 = 0)
     delete from delivery where id in (select id from missed)`,
    [subscription],
  );
  await ask(
    `update delivery set status = 'dead_lettered', next_attempt_at = null, finished_at = created_at where subscription_id = $1`,
    [subscription],
  );
  const again = `update delivery set finished_at = now() + interval '1 hour'
                  where id = (select max(id::text)::uuid from delivery where subscription_id = $1)`;
  await ask(again, [subscription]);
  const since = new Date(Date.now() - 5 * 3_600_000).toISOString();
  const answer = await client.post(`/v1/webhooks/${webhook}/recover`, { since });
  expect(answer).toMatchObject({ status: 202, body: { data: { queued: 3_000, complete: false } } });
  const recovery = recoveryIds.parse(answer.body.data.recoveryId)!;
  const elsewhere = new Scope(product.database, { organizationId: id, environment: 'test' }, 'elsewhere');
  const work = openBoundedWork();
  const services = { eventFilters: webhookFilters(work), events: declared.events };
  await Promise.all([1, 2].map(() => continueRecovery(services, elsewhere, recovery)));
  work.close();
  await until('it is finished', async () => {
    const { rows } = await ask('select queued, finished_at from recovery where id = $1', [recovery]);
    if (rows[0].finished_at !== null) expect(rows[0].queued).toBe(4_999);
    return rows[0].finished_at !== null;
  });
  expect(await countBy(client, webhook, 'pending')).toBe(4_999);
  expect(await countBy(client, webhook, 'dead_lettered')).toBe(1);
  const { rows } = await ask(
    `select count(*)::int as n, count(distinct event_id)::int as events, max(schedule_attempts) as attempts
       from delivery where subscription_id = $1 and status = 'pending'`,
    [subscription],
  );
  expect(rows[0]).toEqual({ n: 4_999, events: 4_999, attempts: 0 });
  expect((await client.post(`/v1/webhooks/${webhook}/recover`, { since })).body.data).toMatchObject({
    queued: 0,
    complete: false,
  });
});

test('a webhook with many open deliveries is turned off and deleted in bounded parts', async () => {
  const { client, webhook } = await newTenant();
  await seed(webhook, 2_500, 0);
  const subscription = webhookIds.parse(webhook);
  await ask(`update delivery set status = 'pending', finished_at = null where subscription_id = $1`, [subscription]);
  await sweep();
  expect((await client.patch(`/v1/webhooks/${webhook}`, { isActive: false })).status).toBe(200);
  await until('all are dead letters', async () => (await countBy(client, webhook, 'dead_lettered')) === 2_500);
  expect(await countBy(client, webhook, 'pending')).toBe(0);
  expect((await client.delete(`/v1/webhooks/${webhook}`)).status).toBe(200);
  await until('all have failed', async () => {
    const left = `select from delivery where subscription_id = $1 and status <> 'failed' limit 1`;
    return (await ask(left, [subscription])).rowCount === 0;
  });
  expect((await ask('select from delivery_block where subscription_id = $1', [subscription])).rowCount).toBe(0);
});
