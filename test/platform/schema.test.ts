import { expect, test } from '@jest/globals';
import { MikroORM } from '@mikro-orm/postgresql';
import { ormConfig } from '../../src/platform/database/entity-managers.ts';
import { entities } from '../../src/services.ts';
import { allEntities, createTestDatabase } from '../test-database.ts';

test('test files open the entities of the product', async () => {
  const names = (of: readonly { meta: { className: string } }[]) => of.map(({ meta }) => meta.className).toSorted();
  expect(names(await allEntities())).toEqual(names(entities));
});

test('the migrations make what the entities say', async () => {
  const { ownerUrl, drop } = await createTestDatabase();
  const orm = await MikroORM.init(ormConfig({ url: ownerUrl, poolSize: 2, entities }, {}));
  const difference = await orm.schema.getUpdateSchemaSQL();
  await orm.close();
  await drop();
  // Foreign keys, checks, exclusions, policies and triggers are written by hand and unknown to the entities.
  const byHand =
    /^alter table "\w+" drop constraint "\w+_(fkey|check\d*|excl)";$|^drop (policy|trigger|function)|row level security;$|^set names/;
  // The tables of accounts are better-auth's, which compares them with its own models when it is opened.
  const ofAccounts = /^(alter|drop) (table|schema) (if exists )?"auth"/;
  const unexplained = difference
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !byHand.test(line) && !ofAccounts.test(line));
  expect(unexplained).toEqual([]);
});
