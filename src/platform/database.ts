import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, type EntityManager, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Tenant } from './scope.ts';

export interface Database {
  orm: MikroORM;
  /** The pool behind the entity manager: statements and entities share one set of connections. */
  pool: Pool;
  /** A fresh entity manager that sees one tenant's rows and no others. */
  entityManager(tenant: Tenant): EntityManager;
  close(): Promise<void>;
}

export interface DatabaseSettings {
  url: string;
  poolSize: number;
  /** Explicit, so that a table nobody listed fails at start and not in production. */
  entities: EntitySchema[];
}

/** A tenant-scoped entity lists this filter; a read that was not given a tenant throws instead of seeing everything. */
export const tenantFilter = {
  name: 'tenant',
  default: true,
  cond: ({ organizationId, environment }: Partial<Tenant>) => {
    if (!organizationId || !environment) throw new Error('A tenant-scoped entity was read without a scope.');
    return { organizationId, environment };
  },
};

export function ormConfig({ url, poolSize, entities }: DatabaseSettings) {
  return defineConfig({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    // Whoever runs the servers makes the database; a mistyped name is an error and not a new, empty one.
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: poolSize },
    driverOptions: {
      application_name: 'atelier',
      connectionTimeoutMillis: 5_000,
      // Guards against a statement or a transaction that nobody waits for any more (research: trust 1.1).
      statement_timeout: 15_000,
      lock_timeout: 5_000,
      idle_in_transaction_session_timeout: 15_000,
    },
    migrations: {
      path: fileURLToPath(new URL('../../migrations', import.meta.url)),
      glob: 'Migration*.ts',
      emit: 'ts',
      snapshot: true,
      snapshotName: '.snapshot',
      allOrNothing: true,
      silent: true,
    },
  });
}

/** Opens the pool; connections are made when they are first needed, so that a late PostgreSQL is waited for by callers. */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  const orm = await MikroORM.init(ormConfig(settings));
  const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
  return {
    orm,
    pool,
    entityManager(tenant) {
      const em = orm.em.fork();
      em.setFilterParams('tenant', { ...tenant });
      return em;
    },
    close: () => orm.close(true),
  };
}

/**
 * Brings the schema up to date. Two processes that start at once take turns on an advisory lock.
 * @returns the names of the migrations it ran.
 */
export async function migrate(database: Database): Promise<string[]> {
  const guard = await database.pool.connect();
  try {
    await guard.query(
      "set lock_timeout = 0; set statement_timeout = 0; select pg_advisory_lock(hashtext('atelier.migrate'))",
    );
    return (await database.orm.migrator.up()).map((migration) => migration.name);
  } finally {
    // Ending the session is what frees the lock, whatever state the migration left it in.
    guard.release(true);
  }
}
