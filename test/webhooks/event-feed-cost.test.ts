import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { buffersOf } from '../../bench/buffers.ts';
import { newId } from '../../src/platform/ids.ts';
import '../../src/webhooks/events/event-list.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';

/*
 * What a page of the list of events reads, where a tenant has many and PostgreSQL has no statistics of them. Another
 * tenant's events lie between its own. Buffers are counted and not time.
 */

const events = 60_000;
const types = 25;
const perTransaction = 10_000;
const organizationId = newId();

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await client.query('alter table event set (autovacuum_enabled = false)');
  // One event in a thousand is of a rare type.
  await client.query(
    `insert into event (id, organization_id, environment, type, facts, correlation_id, created_at, transaction_number)
     select uuidv7(), case when n % 2 = 0 then $1::uuid else uuidv7() end, 'test',
            case when n % 1000 = 0 then 'rare' else 'type_' || n / 2 % ${types - 1} end,
            json_build_object('runId', uuidv7(), 'name', repeat('x', 100)), 'test',
            now() - interval '1 hour' + n * interval '1 millisecond', 3 + n / ${perTransaction}
       from generate_series(1, ${2 * events}) n`,
    [organizationId],
  );
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const nil = '00000000-0000-0000-0000-000000000000';
const all = [...Array.from({ length: types - 1 }, (_, n) => `type_${n}`), 'rare'];

test.each([
  ['the first page', { name: 'event.list', values: [0, nil, 50] }],
  ['a page in the middle', { name: 'event.list', values: [3 + events / perTransaction, nil, 50] }],
  ['the largest page', { name: 'event.list', values: [3 + events / perTransaction, nil, 100] }],
  ['the end', { name: 'event.list', values: [10 * events, nil, 100] }],
  ['one rare type', { name: 'event.list_types', values: [0, nil, 50, ['rare']] }],
  ['a type that there is not', { name: 'event.list_types', values: [0, nil, 50, ['nothing']] }],
  ['all types', { name: 'event.list_types', values: [0, nil, 50, all] }],
])('%s reads at most 200 buffers', async (_, read) => {
  const buffers = await buffersOf(client, [organizationId, 'test'], [read]);
  expect(buffers).toBeLessThanOrEqual(200);
});
