import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileSize } from '../local/log-file.ts';
import { setClockOffset } from '../src/platform/clock.ts';
import type { Database } from '../src/platform/database/database.ts';
import { createKey } from '../src/tenancy/keys.ts';
import { createOrganization } from '../src/tenancy/organizations.ts';
import type { RoleName } from '../workers/roles.ts';
import { type ApiClient, apiClient } from './api-client.ts';
import { secrets } from './operator.ts';
import type { OwnApi } from './own-api.ts';
import { type ProductProcess, readLine, startProcess } from './product-process.ts';
import { runningServers } from './servers.ts';
import type { RunningProduct, SharedProductName } from './shared-products.ts';
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
  /** The URL of the superuser, for what the product may not do. */
  ownerUrl: string;
  taskQueuePrefix: string;
  /** The role `runs` includes `housekeeping`. */
  start(roles: RoleName[], env?: Record<string, string>, entryPoint?: string): Promise<ProductProcess>;
  /** The API in this process, for a file that needs settings or an instance of its own and no process to kill. */
  serve(env?: Record<string, string>): Promise<OwnApi>;
  /** Everything that was started so far, whether it still runs or not. */
  processes: readonly ProductProcess[];
  createTenant(options?: { plan?: string; variant?: 'A' | 'B' }): Promise<Tenant>;
  /** Ends every process that still runs and drops the database. */
  close(): Promise<void>;
}

export interface ProductOptions {
  /** A fresh one on the shared server unless given. */
  testDatabase?: TestDatabase;
  /** One of its own unless given. */
  taskQueuePrefix?: string;
  /** Variables of every process; those that `start` is given come on top. */
  env?: Record<string, string>;
  /** The entry point of every process for which `start` is given none. */
  entryPoint?: string;
}

/** Runs need a drained outbox and sweeps: a process with the role `runs` has the role `housekeeping` too. */
const withHousekeeping = (roles: RoleName[]): RoleName[] =>
  roles.includes('runs') && !roles.includes('housekeeping') ? [...roles, 'housekeeping'] : roles;

export async function openProduct(options: ProductOptions = {}): Promise<Product> {
  const {
    testDatabase,
    env: ofAll,
    entryPoint: usual,
    taskQueuePrefix = `t${randomBytes(4).toString('hex')}-`,
  } = options;
  const { url, ownerUrl, drop } = testDatabase ?? (await createTestDatabase());
  const database = await openTestDatabase(url);
  const processes: ProductProcess[] = [];
  const apis: OwnApi[] = [];
  const optionsWith = (env?: Record<string, string>) => ({
    databaseUrl: url,
    taskQueuePrefix,
    env: { SEALING_KEYS: secrets.SEALING_KEYS, ...ofAll, ...env },
  });
  // Not that of a shared product, which runs on. A Temporal server of the test's own ends with the test.
  const leavesSchedule = () => !options.taskQueuePrefix && !ofAll?.TEMPORAL_ADDRESS && processes.length > 0;
  return {
    database,
    databaseUrl: url,
    ownerUrl,
    taskQueuePrefix,
    processes,
    async start(roles, env, entryPoint = usual) {
      const started = await startProcess(withHousekeeping(roles), {
        ...optionsWith(env),
        ...(entryPoint && { entryPoint }),
      });
      processes.push(started);
      return started;
    },
    async serve(env) {
      // Loaded by those who use it: it is the whole product.
      const { startOwnApi } = await import('./own-api.ts');
      const started = await startOwnApi(optionsWith(env));
      apis.push(started);
      return started;
    },
    async createTenant({ plan = 'team', variant = 'A' } = {}) {
      const { id: organizationId } = await createOrganization(database, { name: 'Test', plan });
      const issue = (environment: string) => createKey(database, { organizationId, environment, variant });
      const [test, live] = [await issue('test'), await issue('live')];
      return { organizationId, testKey: test.key, liveKey: live.key };
    },
    async close() {
      await Promise.all([...processes.map((one) => one.kill()), ...apis.map((one) => one.stop())]);
      if (leavesSchedule()) {
        // Its client takes as long to load as all the rest, and few files need it.
        await (await import('./temporal-schedules.ts')).deleteHousekeeping(taskQueuePrefix);
      }
      await database.close();
      await drop();
      // A test may have advanced it. The next file in this process has another database.
      setClockOffset(0);
    },
  };
}

/** A product with one process that has the API and the runs, and a client with a tenant's test key. */
export interface StartedProduct extends Product {
  process: Pick<ProductProcess, 'api' | 'log'>;
  tenant: Tenant;
  api: ApiClient;
}

/** For a file that kills, stops or configures its process, or looks at whole tables or logs. */
export async function startProduct(
  env?: Record<string, string>,
): Promise<StartedProduct & { process: ProductProcess }> {
  const product = await openProduct();
  const process = await product.start(['api', 'runs'], env);
  return { ...(await withTenant(product, process)), process };
}

/**
 * For a file that only needs a tenant of its own: a product that others use at the same time, with a fresh tenant. What
 * is started here runs on the shared database and ends with the file.
 */
export async function sharedProduct(name: SharedProductName = 'plain'): Promise<StartedProduct> {
  const ask = () => fetch(`${runningServers().sharedProductsUrl}/${name}`);
  let answer = await ask();
  // On a busy machine it may not be ready in time.
  if (!answer.ok) answer = await ask();
  const found = await answer.json();
  if (!answer.ok) throw new Error(`The shared product did not start: ${(found as Error).message}`);
  const { api, databaseUrl, ownerUrl, taskQueuePrefix, logFile, env } = found as RunningProduct;
  const testDatabase = { url: databaseUrl, ownerUrl, drop: async () => {} };
  const product = await openProduct({ testDatabase, taskQueuePrefix, env });
  const logStart = fileSize(logFile);
  return withTenant(product, {
    api,
    get log() {
      return readFileSync(logFile).subarray(logStart).toString().split('\n').filter(Boolean).map(readLine);
    },
  });
}

async function withTenant(product: Product, process: Pick<ProductProcess, 'api' | 'log'>): Promise<StartedProduct> {
  // A plan whose limits no test file comes near.
  const tenant = await product.createTenant({ plan: 'enterprise' });
  return { ...product, process, tenant, api: apiClient(process.api, tenant.testKey) };
}
