import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
// Declares the statements.
import '../../src/studio/history.ts';
import { buffersOf, rowOf } from '../buffers.ts';
import { insertGenerations } from '../insert-generations.ts';
import type { Finding, Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import type { Stand } from '../stand.ts';

const generations = 1_000_000;
const maxBuffers = 2_000;
const limit = 50;

/** Waits until the product has counted them in blocks. */
async function untilCounted(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select count(*)::int as n from generation_block');
    if (rows[0].n >= generations / 1_000) return;
    await sleep(1_000);
  }
}

async function measure(stand: Stand, client: pg.Client): Promise<Finding> {
  const rows: Finding['rows'] = [];
  const verdicts: Finding['verdicts'] = [];
  const tenant = [stand.organizationId, 'test'] as const;
  for (const type of ['', 'image', 'music', 'video']) {
    for (const offset of [0, 1_000, 5_000, generations / 2]) {
      const path = `/api/studio/history?${new URLSearchParams({ ...(type && { type }), limit: String(limit), offset: String(offset) })}`;
      const { value: p50 } = await timeAlone(() => stand.client.get(path), { count: 5 });
      const marks = { name: `generation.marks_${type || 'all'}`, values: [offset] };
      const { upTo, skip } = await rowOf(client, tenant, marks);
      const page = { name: `generation.history_${type || 'all'}`, values: [upTo, limit, skip] };
      const buffers = await buffersOf(client, tenant, upTo === null ? [marks] : [marks, page]);
      const name = `${type || 'all'}, from ${offset} on`;
      rows.push({ name, unit: 'ms', values: [p50] });
      verdicts.push({ name: `${name}: buffers read`, values: [buffers], aim: { atMost: maxBuffers } });
    }
  }
  return { rows, verdicts };
}

/** P27: the rows that a page of Studio's history and its total read, for any filter and any offset. */
export const listGenerations: Item = {
  name: 'P27',
  title: `GET /api/studio/history, ${limit} of 1,000,000 generations with their total, p50 alone, and buffers of 8 KiB`,
  needs: 'stand',
  async run(stand) {
    const client = new pg.Client({ connectionString: stand.databaseUrl });
    await client.connect();
    try {
      await insertGenerations(client, { organizationId: stand.organizationId, count: generations });
      await client.query('vacuum analyze generation');
      await untilCounted(client);
      await client.query('vacuum analyze generation_block');
      return [await measure(stand, client)];
    } finally {
      await client.end();
    }
  },
};
