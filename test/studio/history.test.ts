import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { buffersOf, rowOf } from '../../bench/buffers.ts';
import { insertGenerations } from '../../bench/insert-generations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { countGenerationBlocks, type HistoryType, historyTypes, listHistory } from '../../src/studio/history.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

const count = 20_300;
const [organizationId, other] = [newId(), newId()];
const types: (HistoryType | undefined)[] = [undefined, ...historyTypes];

let files: TestDatabase;
let database: Database;
let owner: pg.Client;
let scope: Scope;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  owner = new pg.Client({ connectionString: files.ownerUrl });
  await owner.connect();
  scope = new Scope(database, { organizationId, environment: 'test' }, 'history-test');
  await insertGenerations(owner, { organizationId, count });
  await insertGenerations(owner, { organizationId: other, count: 3_000 });
});
afterAll(async () => {
  await owner.end();
  await database.close();
  await files.drop();
});

const analyze = () => owner.query('vacuum analyze generation, generation_block');

/** What the history must show, read one by one. */
async function expected(type: HistoryType | undefined): Promise<string[]> {
  const { rows } = await owner.query(
    `select id from generation
      where organization_id = $1 and status = 'completed' and kind = any($2) order by number desc`,
    [organizationId, type ? [type] : historyTypes],
  );
  return rows.map(({ id }) => id);
}

async function expectPages(): Promise<void> {
  for (const type of types) {
    const ids = await expected(type);
    for (const offset of [0, 7, 199, 1_000, ids.length - 5, ids.length, 1_000_000]) {
      const page = await listHistory(scope, { type, limit: 10, offset });
      const shown = { type, offset, total: page.total, ids: page.items.map(({ id }) => id) };
      expect(shown).toEqual({ type, offset, total: ids.length, ids: ids.slice(offset, offset + 10) });
    }
  }
}

/** Buffers of 8 KiB that a page and its total read. */
async function buffers(type: HistoryType | undefined, offset: number): Promise<number> {
  const tenant = [organizationId, 'test'] as const;
  const marks = { name: `generation.marks_${type ?? 'all'}`, values: [offset] };
  const { upTo, skip } = await rowOf(owner, tenant, marks);
  const page = { name: `generation.history_${type ?? 'all'}`, values: [upTo, 10, skip] };
  return buffersOf(owner, tenant, upTo === null ? [marks] : [marks, page]);
}

test('pages and totals are right while nothing is counted, and when blocks are', async () => {
  await analyze();
  await expectPages();
  // The last of each tenant's blocks has not ended.
  expect(await countGenerationBlocks(database)).toBe(20 + 3);
  expect(await countGenerationBlocks(database)).toBe(0);
  await analyze();
  await expectPages();
});

test('a page reads hardly more than its rows, whatever the type and however far back', async () => {
  const { rows } = await owner.query(`select pg_relation_size('generation') / 8192 as pages`);
  const pages = Number(rows[0].pages);
  expect(pages).toBeGreaterThan(500);
  for (const type of types) {
    for (const offset of [0, 100, 10_000, 19_000]) {
      const read = await buffers(type, offset);
      // A scan would read all of the table.
      expect({ type, offset, read, isFew: read < pages / 10 }).toMatchObject({ isFew: true });
    }
  }
});

test('a block with a generation that is under way is counted once it has ended', async () => {
  const open = (status: string) =>
    owner.query(
      `update generation set status = $2::text, file = case when $2::text = 'completed' then lpad('x', 43, 'x') || '.png' end,
              credits = 1 where organization_id = $1 and number = 20100`,
      [organizationId, status],
    );
  await open('processing');
  await insertMore(700);
  expect(await countGenerationBlocks(database)).toBe(0);
  await expectPages();
  await open('completed');
  expect(await countGenerationBlocks(database)).toBe(1);
  await expectPages();
});

/** Completes the last block. */
async function insertMore(more: number): Promise<void> {
  await owner.query(
    `insert into generation (id, organization_id, environment, number, kind, status, request, seed, file, credits,
                             correlation_id, created_at, finished_at)
     select uuidv7(), $1, 'test', $2::int + n, 'image', 'completed', '{}', 1, lpad('y', 43, 'y') || '.png', 1, 'more', now(), now()
       from generate_series(1, $3::int) n`,
    [organizationId, count, more],
  );
  await owner.query('update generation_total set total = total + $2 where organization_id = $1', [
    organizationId,
    more,
  ]);
}
