import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Database } from '../src/platform/database.ts';
import { openProductDatabase } from '../src/services.ts';
import { runningServers } from './servers.ts';

export interface TestDatabase {
  url: string;
  /** Drops it, whoever is still connected. */
  drop(): Promise<void>;
}

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: runningServers().adminUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A fresh, migrated database of a test file's own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { adminUrl, template } = runningServers();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(`create database ${name} template ${template}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdmin(`drop database if exists ${name} with (force)`) };
}

/** Opens it as the product does. */
export const openTestDatabase = (url: string, poolSize = 5): Promise<Database> => openProductDatabase(url, poolSize);
