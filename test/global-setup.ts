import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePort } from '../local/ports.ts';
import { startPostgres } from '../local/postgres.ts';
import { findTemporalProgram } from '../local/temporal-program.ts';
import { startTemporal } from '../local/temporal-server.ts';
import { migrate } from '../src/platform/database.ts';
import { readLocalSettings } from '../src/platform/env.ts';
import { openProductDatabase } from '../src/services.ts';
import { prepareBundle } from '../workers/bundle.ts';
import { keepStopper, type Servers, serversFile } from './servers.ts';

const template = 'template_atelier';

async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
}

async function migrateTemplate(url: string): Promise<void> {
  const database = await openProductDatabase(url, 2);
  await migrate(database);
  await database.close();
}

/** Starts one PostgreSQL and one Temporal server for the whole run of the tests. */
export default async function setUp(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-test-'));
  const log = (line: string) => console.log(line);
  const signal = new AbortController().signal;
  const [postgres, temporal] = await Promise.all([
    startPostgres({
      dataDirectory: join(folder, 'postgres'),
      port: await findFreePort(),
      password: 'test',
      log: () => {},
    }),
    findTemporalProgram({ settings: readLocalSettings(), log, signal }).then(async (program) =>
      startTemporal({
        program,
        databaseFile: join(folder, 'temporal.db'),
        port: await findFreePort(),
        logFile: join(folder, 'temporal.log'),
      }),
    ),
    prepareBundle(join(folder, 'bundles')),
  ]);
  await createDatabase(postgres.url('postgres'), template);
  await migrateTemplate(postgres.url(template));
  const servers: Servers = {
    folder,
    adminUrl: postgres.url('postgres'),
    template,
    temporalAddress: temporal.address,
    bundles: join(folder, 'bundles'),
  };
  writeFileSync(serversFile(process.pid), JSON.stringify(servers));
  keepStopper(async () => {
    await Promise.all([postgres.stop(), temporal.stop()]);
  });
}
