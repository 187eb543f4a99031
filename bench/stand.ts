import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../local/app-process.ts';
import { findFreePort } from '../local/ports.ts';
import { type RunningPostgres, startPostgres } from '../local/postgres/postgres.ts';
import { findTemporalProgram } from '../local/temporal/temporal-program.ts';
import { type RunningTemporal, startTemporal } from '../local/temporal/temporal-server.ts';
import { migrate } from '../src/platform/database/migrate.ts';
import { readLocalSettings } from '../src/platform/env.ts';
import { openProductDatabase } from '../src/services.ts';
import { organizationIds } from '../src/tenancy/core/ids.ts';
import { createKey } from '../src/tenancy/keys.ts';
import { createOrganization } from '../src/tenancy/organizations.ts';
import { prepareBundle } from '../workers/bundle.ts';
import { roleNames } from '../workers/roles.ts';
import type { Cleanup } from './cleanup.ts';
import { CpuMeter } from './cpu-meter.ts';
import { ProductClient } from './product-client.ts';

/** The servers that baseline and product share, and the product as a process. */
export interface Stand {
  postgres: RunningPostgres;
  temporal: RunningTemporal;
  databaseUrl: string;
  databasePoolSize: number;
  /** Base URL of the product. */
  api: string;
  organizationId: string;
  /** A test key of an organization with the largest plan. */
  key: string;
  client: ProductClient;
  /** The same with a live key of that organization, whose provider is what listens on `providerPort`. */
  liveClient: ProductClient;
  providerPort: number;
  /** Where the live key's Runway is expected. */
  runwayPort: number;
  meter: CpuMeter;
  /** The process id of the product's first process. */
  productPid: number;
  /** A path in the stand's own folder. */
  file(name: string): string;
}

const databasePoolSize = 20;

/** Limits are counted all the same. */
export const unlimited = { rateMinute: 2_000_000_000, rateDay: 2_000_000_000 };

async function prepareDatabase(url: string): Promise<{ organizationId: string; key: string; liveKey: string }> {
  const database = await openProductDatabase(url, 2);
  try {
    await migrate(database);
    const { id } = await createOrganization(database, { name: 'Bench', plan: 'enterprise', ...unlimited });
    const { key } = await createKey(database, { organizationId: id, environment: 'test' });
    const { key: liveKey } = await createKey(database, { organizationId: id, environment: 'live' });
    return { organizationId: organizationIds.parse(id)!, key, liveKey };
  } finally {
    await database.close();
  }
}

/** Starts PostgreSQL and Temporal as the local stack does, on free ports and in a folder that goes with them. */
export async function openStand(cleanup: Cleanup, log: (line: string) => void): Promise<Stand> {
  const settings = readLocalSettings();
  const folder = mkdtempSync(join(tmpdir(), 'atelier-bench-'));
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string) => join(folder, name);
  const bundles = file('bundles');

  const postgres = await startPostgres({
    dataDirectory: file('postgres'),
    port: await findFreePort(),
    password: 'bench',
  });
  cleanup.add(() => postgres.stop({ hasty: true }));
  const temporal = await startTemporal({
    program: await findTemporalProgram({ settings, log }),
    databaseFile: file('temporal.db'),
    port: await findFreePort(),
    logFile: file('temporal.log'),
  });
  cleanup.add(() => temporal.stop({ hasty: true }));
  const databaseUrl = postgres.url('atelier');
  const [providerPort, runwayPort, apiPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const [{ organizationId, key, liveKey }] = await Promise.all([prepareDatabase(databaseUrl), prepareBundle(bundles)]);

  const app = await startApp({
    roles: roleNames,
    env: {
      ...settings.parentEnvironment,
      DATABASE_URL: databaseUrl,
      DATABASE_POOL_SIZE: String(databasePoolSize),
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_TASK_QUEUE_PREFIX: '',
      WORKFLOW_BUNDLE_DIR: bundles,
      // The console works at this address alone.
      PUBLIC_URL: `http://127.0.0.1:${apiPort}`,
      HOST: '127.0.0.1',
      PORT: String(apiPort),
      METRICS_PORT: '0',
      URL_SIGNING_KEY: randomBytes(32).toString('base64'),
      STORAGE_DIR: file('files'),
      MAIL_FOLDER: file('mail'),
      SEALING_KEYS: `bench:${randomBytes(32).toString('base64')}`,
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      ANTHROPIC_API_KEY: 'bench',
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${providerPort}`,
      SLACK_CLIENT_ID: 'bench',
      SLACK_CLIENT_SECRET: 'bench',
      SLACK_BASE_URL: `http://127.0.0.1:${providerPort}`,
      RUNWAY_API_KEY: 'bench',
      RUNWAY_BASE_URL: `http://127.0.0.1:${runwayPort}`,
      LOG_LEVEL: 'warn',
    },
    logFile: file('product.log'),
  });
  cleanup.add(() => app.stop());
  const client = new ProductClient(app.api, key);
  const liveClient = new ProductClient(app.api, liveKey);
  for (const one of [client, liveClient]) cleanup.add(() => one.close());

  const meter = new CpuMeter();
  meter.watch('product', app.pid);
  meter.watch('temporal', temporal.pid);
  meter.watch('postgres', postgres.pid);
  return {
    postgres,
    temporal,
    databaseUrl,
    databasePoolSize,
    api: app.api,
    organizationId,
    key,
    client,
    liveClient,
    providerPort,
    runwayPort,
    meter,
    productPid: app.pid,
    file,
  };
}
