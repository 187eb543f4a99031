import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Database } from '../src/platform/database.ts';
import { openProductDatabase } from '../src/services.ts';
import { runningServers, type Servers } from './servers.ts';

export interface TestDatabase {
  url: string;
  /** Drops it, whoever is still connected. */
  drop(): Promise<void>;
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
  await execute(adminUrl, `create database ${name} template ${template}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(adminUrl, `drop database if exists ${name} with (force)`) };
}

/** Opens it as the product does. */
export const openTestDatabase = (url: string, poolSize = 5): Promise<Database> => openProductDatabase(url, poolSize);
