import type { EntityManager, EntitySchema } from '@mikro-orm/postgresql';
import type { ClientBase, Pool } from 'pg';
import type { LocalLocks } from '../concurrency/local-locks.ts';
import type { OutboxOfProcess } from '../outbox/enqueue.ts';
import type { Tenant } from '../tenant.ts';
import type { UseOfProcess } from './counted-use.ts';
import type { SharedConnections } from './shared-connections.ts';
import type { TenantConnections } from './tenant-connections.ts';

/**
 * The roles that the product works in. Its login can become either and has no rights of its own; migrations use the
 * login that owns the tables. Row-level security lets `tenant` see only one tenant's rows, so that a forgotten filter
 * shows nothing. `system` is for work that belongs to no tenant: looking up keys, draining the outbox, operators'
 * commands. `auth` has only rights on the schema of accounts.
 */
export const databaseRoles = { tenant: 'atelier_tenant', system: 'atelier_system', auth: 'atelier_auth' } as const;

export interface Database {
  /** In the role `system`. */
  pool: Pool;
  /** In the role `tenant`: only `Scope` takes connections from it. */
  tenantPool: Pool;
  /** The same for the work of one organization. */
  tenantConnections: TenantConnections;
  /** What transactions of this process wait for without a connection. */
  localLocks: LocalLocks;
  /** Connections of that pool for reads by key: only `Scope` uses them. */
  sharedConnections: SharedConnections;
  /**
   * A fresh entity manager that works on this connection, in the transaction that it is in: that of a tenant's rows, or
   * of a transaction that belongs to no tenant. Throws where the database was opened without entities.
   */
  entitiesOn(client: ClientBase, tenant: Tenant | undefined): EntityManager;
  /** Replaced where the process can do enqueued work itself; until then everything is left to the drain. */
  outbox: OutboxOfProcess;
  /** Replaced if the process counts the use of tenants; until then nothing is counted. */
  use: UseOfProcess;
  settings: DatabaseSettings;
  close(): Promise<void>;
}

export interface DatabaseSettings {
  url: string;
  /** Connections for tenants' work. The system has a quarter as many in addition, and at least two. */
  poolSize: number;
  /**
   * Explicit, so that an unlisted table fails at start and not in production. Without any, the entity manager is not
   * loaded: for commands, which run only statements.
   */
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
