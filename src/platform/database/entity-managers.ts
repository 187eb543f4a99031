import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Database, DatabaseSettings } from './database.ts';
import { entityConnection } from './entity-connection.ts';

export const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** @param connection options of its connections: migrations have other limits than work */
export function ormConfig({ url, poolSize, entities }: DatabaseSettings, connection: object) {
  return defineConfig({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    // The operator of the servers makes the database; a mistyped name is an error and not a new, empty one.
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: Math.max(2, Math.ceil(poolSize / 4)) },
    driverOptions: connection,
    migrations: {
      path: migrationsFolder,
      glob: 'Migration*.ts',
      emit: 'ts',
      // Migrations are written by hand; a test compares their tables with the entities.
      snapshot: false,
      allOrNothing: true,
      silent: true,
    },
  });
}

/** Loaded where there are entities: it costs a process more time than everything else that it needs for one statement. */
export interface EntityManagers extends Pick<Database, 'entitiesOn'> {
  /** Its connections return times as strings, so that statements name their types. */
  pool: Pool;
  close(): Promise<void>;
}

/** Opens a pool of its own for the entity manager. Nothing connects before it is used. */
export async function openEntityManagers(settings: DatabaseSettings, connection: object): Promise<EntityManagers> {
  const orm = await MikroORM.init(ormConfig(settings, connection));
  const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
  return {
    pool,
    entitiesOn(client, tenant) {
      const em = orm.em.fork();
      if (tenant) em.setFilterParams('tenant', { ...tenant });
      em.setTransactionContext(entityConnection(client, pool.options.types!));
      return em;
    },
    close: () => orm.close(true),
  };
}
