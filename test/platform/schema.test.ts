import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { MikroORM } from '@mikro-orm/postgresql';
import { ormConfig } from '../../src/platform/database.ts';
import { entities } from '../../src/services.ts';
import { runningServers, snapshotBeforeMigrating, snapshotOfMigrations } from '../servers.ts';
import { createTestDatabase } from '../test-database.ts';

test('the migrations make what the entities say', async () => {
  const { url, drop } = await createTestDatabase();
  const orm = await MikroORM.init(ormConfig({ url, poolSize: 2, entities }));
  const difference = await orm.schema.getUpdateSchemaSQL();
  await orm.close();
  await drop();
  // Foreign keys, checks, policies and triggers are written by hand and unknown to the entities.
  const byHand =
    /^alter table "\w+" drop constraint "\w+_(fkey|check\d*)";$|^drop (policy|trigger|function)|row level security;$|^set names/;
  const unexplained = difference.split('\n').filter((line) => line.trim() !== '' && !byHand.test(line.trim()));
  expect(unexplained).toEqual([]);
});

test('the committed snapshot of the migrations is the schema that they make', () => {
  const committed = readFileSync(snapshotBeforeMigrating(runningServers().folder), 'utf8');
  // Where they differ, this run has written the right one: commit it.
  expect(JSON.parse(committed)).toEqual(JSON.parse(readFileSync(snapshotOfMigrations, 'utf8')));
});
