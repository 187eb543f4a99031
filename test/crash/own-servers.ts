import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../../local/ports.ts';
import { startPostgres } from '../../local/postgres/postgres.ts';
import { findTemporalProgram } from '../../local/temporal/temporal-program.ts';
import { startTemporal } from '../../local/temporal/temporal-server.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { readLocalSettings } from '../../src/platform/env.ts';
import { postgresOfTests, runningServers, temporalOfTests } from '../servers.ts';
import { applicationUrl, openTestDatabase, type TestDatabase } from '../test-database.ts';

/** A server that one test file has for itself, so that it may kill it. */
export interface OwnServer {
  pid(): number;
  /** SIGKILL, and gone. */
  kill(): Promise<void>;
  /** Again, on the same port and the same data. */
  start(): Promise<void>;
  /** Stops it and forgets its data. */
  close(): Promise<void>;
}

interface Running {
  pid: number;
  ended: Promise<void>;
  stop(): Promise<void>;
}

async function own<Server extends Running>(folder: string, startServer: () => Promise<Server>) {
  let server = await startServer();
  const lifecycle: OwnServer = {
    pid: () => server.pid,
    async kill() {
      process.kill(server.pid, 'SIGKILL');
      await server.ended;
    },
    async start() {
      server = await startServer();
    },
    async close() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return { lifecycle, server };
}

export async function ownTemporal(): Promise<OwnServer & { address: string }> {
  const folder = mkdtempSync(join(runningServers().folder, 'temporal-'));
  const program = await findTemporalProgram({ settings: readLocalSettings(), log: () => {} });
  const files = { databaseFile: join(folder, 'temporal.db'), logFile: join(folder, 'temporal.log') };
  const options = { ...temporalOfTests, ...files, program, port: await findFreePort() };
  const { lifecycle, server } = await own(folder, () => startTemporal(options));
  return { ...lifecycle, address: server.address };
}

export async function ownPostgres(): Promise<OwnServer & { testDatabase: TestDatabase }> {
  const folder = mkdtempSync(join(runningServers().folder, 'postgres-'));
  const dataDirectory = join(folder, 'data');
  const options = { dataDirectory, port: await findFreePort(), password: 'test', settings: postgresOfTests };
  const { lifecycle, server } = await own(folder, () => startPostgres(options));
  const ownerUrl = server.url('atelier');
  const url = applicationUrl(ownerUrl);
  const database = await openTestDatabase(url);
  await migrate(database, ownerUrl);
  await database.close();
  return { ...lifecycle, testDatabase: { url, ownerUrl, drop: async () => {} } };
}
