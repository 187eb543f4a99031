import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePort } from '../local/ports.ts';
import { startPostgres } from '../local/postgres/postgres.ts';
import { findTemporalProgram } from '../local/temporal/temporal-program.ts';
import { startTemporal } from '../local/temporal/temporal-server.ts';
import { migrate } from '../src/platform/database/migrate.ts';
import { readLocalSettings } from '../src/platform/env.ts';
import { openProductDatabase } from '../src/services.ts';
import { prepareBundle } from '../workers/bundle.ts';
import { endProcessesOf } from './leftovers.ts';
import { recordedResolutions } from './runtime/resolutions.ts';
import {
  compileCache,
  folderVariable,
  postgresOfTests,
  resolutionsFile,
  type Servers,
  serversFile,
  temporalOfTests,
} from './servers.ts';
import { isSharedProductName, SharedProducts } from './shared-products.ts';
import { applicationUrl } from './test-database.ts';

// Started by Jest's set-up: the servers of one run. They end with the process that started this one.

const template = 'template_atelier';
const { parentEnvironment } = readLocalSettings();
const folder = parentEnvironment[folderVariable]!;

/** The workflow code of the present sources, kept from run to run. */
const builtBundles = join(compileCache, '../bundles');

/** Nothing that a run writes needs to survive this server. */
const careless = { ...postgresOfTests, synchronous_commit: 'off', max_connections: '500' };

async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
}

async function migrateTemplate(ownerUrl: string): Promise<void> {
  const database = await openProductDatabase(applicationUrl(ownerUrl), 2);
  await migrate(database, ownerUrl);
  await database.close();
}

async function startPreparedPostgres() {
  const postgres = await startPostgres({
    dataDirectory: join(folder, 'postgres'),
    port: await findFreePort(),
    password: 'test',
    settings: careless,
  });
  await createDatabase(postgres.url('postgres'), template);
  await migrateTemplate(postgres.url(template));
  return postgres;
}

async function startOwnTemporal() {
  const program = await findTemporalProgram({
    settings: readLocalSettings(),
    log: (line) => console.log(line),
    signal: new AbortController().signal,
  });
  const port = await findFreePort();
  return startTemporal({
    ...temporalOfTests,
    program,
    port,
    databaseFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
    // Each product has five deployments, and a namespace may have a hundred.
    dynamicConfig: ['matching.maxDeployments=10000'],
  });
}

/** What the product's processes load is found and compiled once for all of them. */
async function loadProduct(): Promise<void> {
  const { roles } = await import('../workers/roles.ts');
  await Promise.all(
    Object.values(roles).flatMap(({ load, ...role }) => [
      load(),
      ...('activities' in role ? role.activities.map((one) => one()) : []),
    ]),
  );
  flushCompileCache();
  writeFileSync(resolutionsFile(folder), JSON.stringify(recordedResolutions()));
}

/** Answers which product of a name runs, and starts it for the first who asks. */
async function serveSharedProducts(products: SharedProducts): Promise<string> {
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    if (!isSharedProductName(name)) return void answer(404, { message: `There is no product ${name}.` });
    products.find(name).then(
      (product) => answer(200, product),
      (error: Error) => answer(500, { message: error.message }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function start() {
  const bundles = join(folder, 'bundles');
  const [postgres, temporal] = await Promise.all([
    startPreparedPostgres(),
    startOwnTemporal(),
    prepareBundle(builtBundles).then(() => prepareBundle(bundles, builtBundles)),
    loadProduct(),
  ]);
  const servers: Omit<Servers, 'sharedProductsUrl'> = {
    folder,
    adminUrl: postgres.url('postgres'),
    template,
    temporalAddress: temporal.address,
    bundles,
  };
  const sharedProductsUrl = await serveSharedProducts(new SharedProducts(servers));
  writeFileSync(serversFile(folder), JSON.stringify({ ...servers, sharedProductsUrl }));
}

async function end(exitCode: number): Promise<never> {
  await endProcessesOf(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.exit(exitCode);
}

const started = start();
process.on('disconnect', () => started.catch(() => {}).then(() => end(0)));
started.then(
  () => process.send?.('ready'),
  (error) => {
    console.error(error);
    return end(1);
  },
);
