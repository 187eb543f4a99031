import pg from 'pg';
import type { Database } from '../src/platform/database/database.ts';
import { migrate } from '../src/platform/database/migrate.ts';
import { openProductDatabase } from '../src/services.ts';
import type { Cleanup } from './cleanup.ts';
import type { Stand } from './stand.ts';

/** The product's database, and a pool of bare connections to it. */
export interface OwnDatabase {
  pool: pg.Pool;
  database: Database;
  /** Closes both. The clean-up does so too. */
  close(): Promise<void>;
}

async function execute({ databaseUrl }: Stand, sql: string): Promise<void> {
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  try {
    await admin.query(sql);
  } finally {
    await admin.end();
  }
}

/** Makes a database that no worker looks at. */
export async function openOwnDatabase(
  stand: Stand,
  cleanup: Cleanup,
  name: string,
  connections: number,
): Promise<OwnDatabase> {
  const databaseUrl = stand.postgres.url(name);
  await execute(stand, `create database ${name}`);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: connections });
  const database = await openProductDatabase(databaseUrl, connections);
  const close = async () => {
    if (!pool.ending) await Promise.all([pool.end(), database.close()]);
  };
  // What autovacuum would do in it later costs the items that follow.
  cleanup.add(() => execute(stand, `drop database ${name} with (force)`));
  cleanup.add(close);
  await migrate(database);
  return { pool, database, close };
}
