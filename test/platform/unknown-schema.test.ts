import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrate } from '../../src/platform/database/migrate.ts';
import { UnknownSchema } from '../../src/platform/database/unknown-schema.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const migrateIt = () => migrate({ settings: { url: database.ownerUrl, poolSize: 2, entities: [] } });

test('a database whose migrations began with others is refused before anything is changed', async () => {
  const { rows } = await client.query('select id, name from mikro_orm_migrations order by id');
  // A later version has more migrations than this one, and can be gone back from.
  await client.query(
    `insert into mikro_orm_migrations (name, executed_at) values ('Migration29990101000000_later', now())`,
  );
  expect(await migrateIt()).toEqual([]);

  await client.query(`update mikro_orm_migrations set name = 'Migration20200101000000_other' where id = $1`, [
    rows[0].id,
  ]);
  const refused = await migrateIt().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(UnknownSchema);
  expect((refused as UnknownSchema).message).toBe(
    `The database cannot be migrated, because another version of Atelier made it, whose first migration is Migration20200101000000_other and not ${rows[0].name}. Use that version, or an empty database.`,
  );
  const after = await client.query('select count(*)::int as count from mikro_orm_migrations');
  expect(after.rows[0].count).toBe(rows.length + 1);
});
