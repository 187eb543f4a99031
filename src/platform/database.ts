import { fileURLToPath } from 'node:url';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, type EntityManager, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import pg, { type ClientBase, type Pool } from 'pg';
import { areSeparate, prepareLogin } from './database-login.ts';
import { type OutboxOfProcess, releaseToDrain } from './enqueue.ts';
import { entityConnection } from './entity-connection.ts';
import { LocalLocks } from './local-locks.ts';
import { requireServerVersion } from './server-version.ts';
import { SharedConnections } from './shared-connections.ts';
import { sqlOn } from './sql.ts';
import type { Tenant } from './tenant.ts';
import { TenantConnections } from './tenant-connections.ts';

/**
 * The roles that the product works in. Its login can become either and has no rights of its own; migrations use the login
 * that owns the tables. Row-level security lets `tenant` see one tenant's rows and nothing else, so that a filter somebody
 * forgot shows nothing. `system` is for what belongs to no tenant: looking up keys, draining the outbox, operators'
 * commands.
 */
export const databaseRoles = { tenant: 'atelier_tenant', system: 'atelier_system' } as const;

export interface Database {
  orm: MikroORM;
  /** In the role `system`. The global entity manager uses it too. */
  pool: Pool;
  /** In the role `tenant`: only `Scope` takes connections from it. */
  tenantPool: Pool;
  /** The same for the work of one organization. */
  tenantConnections: TenantConnections;
  /** What transactions of this process wait for without a connection. */
  localLocks: LocalLocks;
  /** Of that pool, for reads by key: only `Scope` uses them. */
  sharedConnections: SharedConnections;
  /**
   * A fresh entity manager that works on this connection, in the transaction that it is in: that of a tenant's rows, or
   * of a transaction that belongs to no tenant.
   */
  entitiesOn(client: ClientBase, tenant: Tenant | undefined): EntityManager;
  /** Replaced where the process can do enqueued work itself; until then everything is left to the drain. */
  outbox: OutboxOfProcess;
  settings: DatabaseSettings;
  close(): Promise<void>;
}

export interface DatabaseSettings {
  url: string;
  /** Connections for tenants' work; the system has a quarter as many beside them, and two at least. */
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

/**
 * How the product connects. Whoever waits for longer than this gets an error that says so: for a free connection, for a
 * lock, for PostgreSQL to end a statement, and for an answer at all, which a server that stands still never gives.
 */
const inRole = (role: string) => ({
  application_name: 'atelier',
  connectionTimeoutMillis: 2_000,
  lock_timeout: 5_000,
  statement_timeout: 10_000,
  query_timeout: 12_000,
  idle_in_transaction_session_timeout: 15_000,
  options: `-c role=${role}`,
});

export function ormConfig({ url, poolSize, entities }: DatabaseSettings, role?: string) {
  return defineConfig({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    // Whoever runs the servers makes the database; a mistyped name is an error and not a new, empty one.
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: Math.max(2, Math.ceil(poolSize / 4)) },
    // Migrations, which no role is named for, take the time they need.
    driverOptions: role === undefined ? { application_name: 'atelier migrations' } : inRole(role),
    migrations: {
      path: fileURLToPath(new URL('../../migrations', import.meta.url)),
      glob: 'Migration*.ts',
      emit: 'ts',
      // Migrations are written by hand; a test compares what they make with the entities.
      snapshot: false,
      allOrNothing: true,
      silent: true,
    },
  });
}

/** Opens the pools; connections are made when they are first needed, so that a late PostgreSQL is waited for by callers. */
export async function openDatabase(settings: DatabaseSettings): Promise<Database> {
  const orm = await MikroORM.init(ormConfig(settings, databaseRoles.system));
  const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
  const tenantPool = new pg.Pool({
    connectionString: settings.url,
    max: settings.poolSize,
    // Lets the tenant's settings and a statement travel together, in one round trip.
    pipeline: true,
    ...inRole(databaseRoles.tenant),
  } as pg.PoolConfig);
  // A connection that the server dropped is replaced; without listeners it would end the process: the pool hears of
  // idle connections, and only the connection itself of one that is in use.
  tenantPool.on('error', () => {});
  tenantPool.on('connect', (client) => client.on('error', () => {}));
  return {
    orm,
    pool,
    tenantPool,
    tenantConnections: new TenantConnections(tenantPool, settings.poolSize),
    localLocks: new LocalLocks(),
    sharedConnections: new SharedConnections(tenantPool),
    settings,
    entitiesOn(client, tenant) {
      const em = orm.em.fork();
      if (tenant) em.setFilterParams('tenant', { ...tenant });
      em.setTransactionContext(entityConnection(client, pool.options.types!));
      return em;
    },
    outbox: {
      kinds: [],
      afterCommit({ tenant: { organizationId, environment }, entries }) {
        const [kinds, subjects] = [entries.map(({ kind }) => kind), entries.map(({ subjectId }) => subjectId)];
        return sqlOn(pool).rows(releaseToDrain, [organizationId, environment, kinds, subjects]);
      },
      requireKind() {},
    },
    async close() {
      await Promise.all([tenantPool.end(), orm.close(true)]);
      // The entity manager leaves a pool open that it never used itself.
      if (!pool.ending) await pool.end();
    },
  };
}

/**
 * Brings the schema up to date, as the owner of the tables, and makes the application's login where that is another one.
 * Two processes that start at once take turns on an advisory lock.
 * @param ownerUrl of the login that owns the tables; the application's own unless given
 * @returns the names of the migrations it ran.
 * @throws EnvError when the server is too old
 */
export async function migrate({ settings }: Pick<Database, 'settings'>, ownerUrl = settings.url): Promise<string[]> {
  const guard = new pg.Client({ connectionString: ownerUrl, application_name: 'atelier migrations' });
  const orm = await MikroORM.init(ormConfig({ ...settings, url: ownerUrl }));
  await guard.connect();
  try {
    await requireServerVersion(guard);
    await guard.query("select pg_advisory_lock(hashtext('atelier.migrate'))");
    const migrated = (await orm.migrator.up()).map((migration) => migration.name);
    if (areSeparate(ownerUrl, settings.url)) {
      await prepareLogin(guard, settings.url, Object.values(databaseRoles));
    }
    return migrated;
  } finally {
    // Ending the session is what frees the lock, whatever state the migration left it in.
    await guard.end();
    await orm.close(true);
  }
}
