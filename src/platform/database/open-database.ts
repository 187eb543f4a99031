import pg from 'pg';
import { LocalLocks } from '../concurrency/local-locks.ts';
import { releaseToDrain } from '../outbox/enqueue.ts';
import { type Database, type DatabaseSettings, databaseRoles } from './database.ts';
import type { EntityManagers } from './entity-managers.ts';
import { SharedConnections } from './shared-connections.ts';
import { sqlOn } from './sql.ts';
import { TenantConnections } from './tenant-connections.ts';

/** What PostgreSQL may not do in statements of the product, see `inRole`. */
export const plannerSettings = ['enable_seqscan=off', 'enable_bitmapscan=off'] as const;

/**
 * How the product connects. A wait that exceeds this fails with an error that says so: for a free connection, for a
 * lock, for PostgreSQL to end a statement, and for any answer, which a frozen server never gives. Statements follow
 * indexes, in their order. PostgreSQL would read a table from end to end, or collect and sort all rows of an index
 * before it takes the first few, while it believes that these are few: statistics may be missing, or of a time when the
 * table was nearly empty, and a connection keeps its plans.
 */
const inRole = (role: string) => ({
  application_name: 'atelier',
  connectionTimeoutMillis: 4_000,
  lock_timeout: 5_000,
  statement_timeout: 10_000,
  query_timeout: 12_000,
  idle_in_transaction_session_timeout: 15_000,
  options: [`role=${role}`, ...plannerSettings].map((setting) => `-c ${setting}`).join(' '),
});

/** The connections of the role `system`, with the entity manager where there are entities for it. */
async function openSystemPool(settings: DatabaseSettings): Promise<EntityManagers> {
  const connection = inRole(databaseRoles.system);
  const max = Math.max(2, Math.ceil(settings.poolSize / 4));
  if (settings.entities.length > 0) {
    const { openEntityManagers } = await import('./entity-managers.ts');
    return openEntityManagers(settings, connection);
  }
  const pool = new pg.Pool({ connectionString: settings.url, max, ...connection });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return {
    pool,
    entitiesOn() {
      throw new Error('This database was opened without entities.');
    },
    close: () => pool.end(),
  };
}

/** Opens the pools. Connections are created on first use, so that callers wait for a late PostgreSQL. */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  const { pool, entitiesOn, close } = await openSystemPool(settings);
  const tenantPool = new pg.Pool({
    connectionString: settings.url,
    max: settings.poolSize,
    // Lets the tenant's settings and a statement travel together, in one round trip.
    pipeline: true,
    ...inRole(databaseRoles.tenant),
  } as pg.PoolConfig);
  // A connection that the server dropped is replaced. Without listeners it would end the process: the pool listens to
  // idle connections, and a connection in use needs its own listener.
  tenantPool.on('error', () => {});
  tenantPool.on('connect', (client) => client.on('error', () => {}));
  return {
    pool,
    tenantPool,
    tenantConnections: new TenantConnections(tenantPool, settings.poolSize),
    localLocks: new LocalLocks(),
    sharedConnections: new SharedConnections(tenantPool),
    settings,
    entitiesOn,
    outbox: {
      kinds: [],
      afterCommit({ tenant: { organizationId, environment }, entries }) {
        const kinds = entries.map(({ kind }) => kind);
        const subjectIds = entries.map(({ subjectId }) => subjectId);
        return sqlOn(pool).rows(releaseToDrain, { organizationId, environment, kinds, subjectIds });
      },
      requireKind() {},
    },
    use: { add() {} },
    async close() {
      await Promise.all([tenantPool.end(), close()]);
      // The entity manager leaves a pool open that it never used itself.
      if (!pool.ending) await pool.end();
    },
  };
}
