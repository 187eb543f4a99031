import { randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { EntitySchema } from '@mikro-orm/core';
import pg from 'pg';
import type { Database } from '../src/platform/database/database.ts';
import { openDatabase } from '../src/platform/database/open-database.ts';
import { runningServers, type Servers } from './servers.ts';

export interface TestDatabase {
  /** For the login of the application. */
  url: string;
  /** For the superuser who owns it. */
  ownerUrl: string;
  /** Drops it, even with open connections. */
  drop(): Promise<void>;
}

/** The login of the application at the same database. */
export function applicationUrl(ownerUrl: string): string {
  const url = new URL(ownerUrl);
  Object.assign(url, { username: 'atelier_app', password: 'application' });
  return url.href;
}

async function execute(adminUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A fresh, migrated database of a test file's own. */
export async function createTestDatabase(
  { adminUrl, template }: Pick<Servers, 'adminUrl' | 'template'> = runningServers(),
): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copied as files: block by block, as PostgreSQL does unless told, costs twice the processor time.
  await execute(adminUrl, `create database ${name} template ${template} strategy file_copy`);
  const owner = new URL(adminUrl);
  owner.pathname = `/${name}`;
  return {
    ownerUrl: owner.href,
    url: applicationUrl(owner.href),
    drop: () => execute(adminUrl, `drop database if exists ${name} with (force)`),
  };
}

/** Every table's entity, without the code of the features: a test file that opens a database loads half as much so. */
export async function allEntities(): Promise<EntitySchema[]> {
  const files = globSync('src/*/{,*/}{entities,*-entities}.ts', { cwd: fileURLToPath(new URL('..', import.meta.url)) });
  const modules: object[] = await Promise.all(files.map((file) => import(`../${file}`)));
  const exported = modules.flatMap((module) => Object.values(module) as unknown[]);
  return exported.filter((one) => one instanceof EntitySchema);
}

/** Opens it as the product does, but waits for a connection as long as a busy machine takes for one. */
export async function openTestDatabase(url: string, poolSize = 5): Promise<Database> {
  const database = await openDatabase({ url, poolSize, entities: await allEntities() });
  for (const { options } of [database.pool, database.tenantPool]) options.connectionTimeoutMillis = 60_000;
  return database;
}
