import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
// Declares the statements.
import '../../src/webhooks/deliveries/delivery-list.ts';
import { buffersOf, rowOf } from '../buffers.ts';
import { insertDeliveries, types } from '../insert-deliveries.ts';
import type { Finding, Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import type { Stand } from '../stand.ts';
import { subscribe } from '../webhook-subscriptions.ts';

const deliveries = 1_000_000;
const maxBuffers = 2_000;

/** Waits until the product has counted them in blocks. */
async function untilCounted(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      'select count(*)::int as n, coalesce(bool_and(is_counted), false) as "isDone" from delivery_block',
    );
    if (rows[0].isDone && rows[0].n > deliveries / 2_000) return;
    await sleep(1_000);
  }
}

/** How many buffers the statements of a page read. */
async function buffersOfPage(client: pg.Client, kind: string, of: unknown[], offset: number): Promise<number> {
  const [organizationId, environment, ...values] = of as [string, string, ...unknown[]];
  const tenant = [organizationId, environment] as const;
  const marks = { name: `delivery.marks${kind}`, values: [...values, offset] };
  const { upToAt, upToId, skip } = await rowOf(client, tenant, marks);
  const page = { name: `delivery.page${kind}`, values: [...values, upToAt, upToId, 50, skip] };
  return buffersOf(client, tenant, upToAt ? [marks, page] : [marks]);
}

async function measure(stand: Stand, client: pg.Client, subscription: string): Promise<Finding> {
  const rows: Finding['rows'] = [];
  const verdicts: Finding['verdicts'] = [];
  for (const [kind, query, values] of [
    ['', {}, []],
    ['_of_status', { status: 'delivered' }, ['delivered']],
    ['_of_status', { status: 'pending' }, ['pending']],
    ['_of_status', { status: 'failed' }, ['failed']],
    ['_of_type', { eventType: types.usual }, [types.usual]],
    ['_of_type', { eventType: types.rare }, [types.rare]],
    ['_of_type_and_status', { eventType: types.usual, status: 'delivered' }, ['delivered', types.usual]],
    ['_of_type_and_status', { eventType: types.rare, status: 'failed' }, ['failed', types.rare]],
  ] as const) {
    const name = Object.values(query).join(' and ') || 'all';
    for (const offset of [0, 1_000, deliveries / 2]) {
      const path = `/api/v1/webhooks/${subscription}/deliveries?${new URLSearchParams({ ...query, limit: '50', offset: String(offset) })}`;
      const { value: p50 } = await timeAlone(() => stand.client.get(path), { count: 5 });
      const buffers = await buffersOfPage(
        client,
        kind,
        [stand.organizationId, 'test', subscription, ...values],
        offset,
      );
      rows.push({ name: `${name}, from ${offset} on`, unit: 'ms', values: [p50] });
      verdicts.push({
        name: `${name}, from ${offset} on: buffers read`,
        values: [buffers],
        aim: { atMost: maxBuffers },
      });
    }
  }
  return { rows, verdicts };
}

/** P26: the rows that a page of deliveries and its total read, for any filter and any offset. */
export const listDeliveries: Item = {
  name: 'P26',
  title:
    'GET /api/v1/webhooks/{id}/deliveries, 50 of 1,000,000 deliveries with their total, p50 alone, and buffers of 8 KiB',
  needs: 'stand',
  async run(stand) {
    const subscription = await subscribe(stand.client, 'http://127.0.0.1:9/never');
    const client = new pg.Client({ connectionString: stand.databaseUrl });
    await client.connect();
    try {
      await insertDeliveries(stand, subscription, deliveries);
      await untilCounted(client);
      return [await measure(stand, client, subscription)];
    } finally {
      await client.end();
    }
  },
};
