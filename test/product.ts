import { randomBytes } from 'node:crypto';
import type { Database } from '../src/platform/database.ts';
import { createKey } from '../src/tenancy/keys.ts';
import { createOrganization } from '../src/tenancy/organizations.ts';
import type { RoleName } from '../workers/roles.ts';
import { type ApiClient, apiClient } from './api-client.ts';
import { secrets } from './operator.ts';
import { type ProductProcess, startProcess } from './product-process.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from './test-database.ts';

export interface Tenant {
  organizationId: string;
  testKey: string;
  liveKey: string;
}

/** A database of a test file's own and the processes that it starts on it. */
export interface Product {
  database: Database;
  databaseUrl: string;
  taskQueuePrefix: string;
  /** The role `runs` includes `housekeeping`. */
  start(roles: RoleName[], env?: Record<string, string>, entryPoint?: string): Promise<ProductProcess>;
  /** Everything that was started so far, whether it still runs or not. */
  processes: readonly ProductProcess[];
  createTenant(options?: { plan?: string; variant?: 'A' | 'B' }): Promise<Tenant>;
  /** Ends every process that still runs and drops the database. */
  close(): Promise<void>;
}

export interface ProductOptions {
  /** A fresh one on the shared server unless given. */
  testDatabase?: TestDatabase;
  /** Of every process, beneath what `start` is given. */
  env?: Record<string, string>;
}

/** Runs need a drained outbox and sweeps: a process with the role `runs` has the role `housekeeping` too. */
const withHousekeeping = (roles: RoleName[]): RoleName[] =>
  roles.includes('runs') && !roles.includes('housekeeping') ? [...roles, 'housekeeping'] : roles;

export async function openProduct({ testDatabase, env: ofAll }: ProductOptions = {}): Promise<Product> {
  const { url, drop } = testDatabase ?? (await createTestDatabase());
  const database = await openTestDatabase(url);
  const taskQueuePrefix = `t${randomBytes(4).toString('hex')}-`;
  const processes: ProductProcess[] = [];
  return {
    database,
    databaseUrl: url,
    taskQueuePrefix,
    processes,
    async start(roles, env, entryPoint) {
      const started = await startProcess(withHousekeeping(roles), {
        databaseUrl: url,
        taskQueuePrefix,
        env: { SEALING_KEYS: secrets.SEALING_KEYS, ...ofAll, ...env },
        ...(entryPoint && { entryPoint }),
      });
      processes.push(started);
      return started;
    },
    async createTenant({ plan = 'team', variant = 'A' } = {}) {
      const { id: organizationId } = await createOrganization(database, { name: 'Test', plan });
      const issue = (environment: string) => createKey(database, { organizationId, environment, variant });
      const [test, live] = [await issue('test'), await issue('live')];
      return { organizationId, testKey: test.key, liveKey: live.key };
    },
    async close() {
      await Promise.all(processes.map((one) => one.kill()));
      await database.close();
      await drop();
    },
  };
}

/** One process with the API and the runs, and a client with a tenant's test key. */
export async function startProduct(
  env?: Record<string, string>,
): Promise<Product & { process: ProductProcess; tenant: Tenant; api: ApiClient }> {
  const product = await openProduct();
  const process = await product.start(['api', 'runs'], env);
  // A plan whose limits no test file comes near.
  const tenant = await product.createTenant({ plan: 'enterprise' });
  return { ...product, process, tenant, api: apiClient(process.api, tenant.testKey) };
}
