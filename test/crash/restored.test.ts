import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { findFreePort } from '../../local/ports.ts';
import { type RunningPostgres, startPostgres } from '../../local/postgres/postgres.ts';
import { findTemporalProgram } from '../../local/temporal/temporal-program.ts';
import { type RunningTemporal, startTemporal } from '../../local/temporal/temporal-server.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { readLocalSettings } from '../../src/platform/env.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { endOf, inB, makeWorkflow } from '../automation/make-workflow.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { applicationUrl, openTestDatabase } from '../test-database.ts';
import { until } from '../until.ts';

jest.setTimeout(240_000);

/** An installation in one folder: the servers' data, files and the tool servers' data. */
interface Installation {
  folder: string;
  postgres: RunningPostgres;
  temporal: RunningTemporal;
  product: Product;
  api: string;
}

const inFolder = (folder: string) => ({
  postgres: join(folder, 'postgres'),
  temporal: join(folder, 'temporal.db'),
  files: join(folder, 'files'),
  tools: join(folder, 'tools'),
});

const newFolder = () => mkdtempSync(join(runningServers().folder, 'installation-'));

async function start(folder: string, taskQueuePrefix: string): Promise<Installation> {
  const paths = inFolder(folder);
  const program = await findTemporalProgram({ settings: readLocalSettings(), log: () => {} });
  const files = { databaseFile: paths.temporal, logFile: join(folder, 'temporal.log') };
  const [postgres, temporal] = await Promise.all([
    startPostgres({ dataDirectory: paths.postgres, port: await findFreePort(), password: 'test' }),
    startTemporal({ ...files, program, port: await findFreePort() }),
  ]);
  const ownerUrl = postgres.url('atelier');
  const url = applicationUrl(ownerUrl);
  const database = await openTestDatabase(url);
  await migrate(database, ownerUrl);
  await database.close();
  const env = {
    ...secrets,
    TEMPORAL_ADDRESS: temporal.address,
    STORAGE_DIR: paths.files,
    TOOLS_DIR: paths.tools,
  };
  const product = await openProduct({
    testDatabase: { url, ownerUrl, drop: async () => {} },
    taskQueuePrefix,
    env,
  });
  const { api } = await product.start(['api', 'runs', 'generation', 'webhooks', 'housekeeping']);
  return { folder, postgres, temporal, product, api };
}

async function end({ folder, postgres, temporal, product }: Installation): Promise<void> {
  await product.close();
  await Promise.all([postgres.stop(), temporal.stop()]);
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Copies an installation that goes on running, in the order of docs/self-hosting.md: the databases at one moment, then
 * the files. PostgreSQL's own functions begin and end the copy, as pg_basebackup does.
 */
async function backUp({ folder, postgres, temporal }: Installation): Promise<string> {
  const copy = newFolder();
  const [from, to] = [inFolder(folder), inFolder(copy)];
  const client = new pg.Client({ connectionString: postgres.url('atelier') });
  await client.connect();
  await client.query("select pg_backup_start('copy', fast => true)");
  const temporary = /postmaster\.(?:pid|opts)$|pg_wal\/.|pgsql_tmp/;
  cpSync(from.postgres, to.postgres, { recursive: true, filter: (path) => !temporary.test(path) });
  // Temporal's development server keeps its state in SQLite, which is whole while nothing is written.
  process.kill(temporal.pid, 'SIGSTOP');
  const { rows } = await client.query('select labelfile from pg_backup_stop()');
  for (const suffix of ['', '-wal']) {
    if (existsSync(from.temporal + suffix)) cpSync(from.temporal + suffix, to.temporal + suffix);
  }
  process.kill(temporal.pid, 'SIGCONT');
  writeFileSync(join(to.postgres, 'backup_label'), rows[0].labelfile);
  cpSync(join(from.postgres, 'pg_wal'), join(to.postgres, 'pg_wal'), { recursive: true });
  await client.end();
  cpSync(from.files, to.files, { recursive: true });
  cpSync(from.tools, to.tools, { recursive: true });
  return copy;
}

let first: Installation;
let second: Installation | undefined;
beforeAll(async () => {
  first = await start(newFolder(), 'restored-');
});
afterAll(async () => {
  await end(second ?? first);
});

const chat = (api: ApiClient, content: string) =>
  api.post('/api/chat', { messages: [{ role: 'user', content }], mcpServers: ['memory'] });

test('what was backed up is there again: runs that were under way go on, files and tools have their contents', async () => {
  const { testKey } = await first.product.createTenant({ plan: 'enterprise' });
  const api = apiClient(first.api, testKey);
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote programs'] }];
  const remembered = await chat(api, `sandbox:tool=memory_create_entities ${JSON.stringify({ entities })}`);
  expect(remembered.status).toBe(200);
  const image = (await api.post('/api/studio/generate', { prompt: 'A lighthouse' })).body.data;
  const fileOf = async (base: string, url: string) => {
    const response = await fetch(new URL(new URL(url).pathname + new URL(url).search, base));
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const picture = await fileOf(first.api, image.url);
  expect(picture.status).toBe(200);
  // Its output is larger than what a row keeps.
  const large = await makeWorkflow(api, { steps: [{ id: 'copy', type: 'transform', expression: 'input' }] });
  const text = 'many words '.repeat(40_000);
  const finished = (await api.post(`/api/v1/workflows/${large.id}/execute`, { input: text }, inB)).body.data;
  await endOf(api, finished.runId);
  // The second step begins after the copy was made.
  const slow = await makeWorkflow(api, {
    steps: [
      { id: 'wait', type: 'prompt', prompt: 'sandbox:slow=5 Wait' },
      { id: 'say', type: 'prompt', prompt: 'Say {{steps.wait.output}}' },
    ],
  });
  // On a busy machine its first step may be over before it is seen: then another run is started.
  const underWay = await until('the first step is under way', async () => {
    const { runId } = (await api.post(`/api/v1/workflows/${slow.id}/execute`, { inputs: {} }, inB)).body.data;
    const status = await until('the first step has begun', async () => {
      const { stepResults } = (await api.get(`/api/v1/runs/${runId}`, inB)).body.data;
      const found = stepResults?.[0]?.status;
      return ['running', 'completed'].includes(found) && (found as string);
    });
    return status === 'running' && { runId: runId as string };
  });

  const copy = await backUp(first);
  const later = (await api.post('/api/v1/workflows', { name: 'Made after the copy' })).body.data;
  await end(first);
  second = await start(copy, 'restored-');

  const restored = apiClient(second.api, testKey);
  expect((await restored.get(`/api/v1/workflows/${later.id}`)).status).toBe(404);
  const ended = await endOf(restored, underWay.runId);
  expect(ended).toMatchObject({ status: 'completed', stepResults: [{ status: 'completed' }, { status: 'completed' }] });
  const output = await restored.get(`/api/v1/runs/${finished.runId}/outputs/copy`);
  expect(JSON.stringify(output.body)).toContain('many words many words');
  expect(await fileOf(second.api, image.url)).toEqual(picture);
  const recalled = await chat(restored, 'sandbox:tool=memory_read_graph');
  expect(recalled.body.data.toolCalls[0].result).toContain('wrote programs');
  const another = (await restored.post(`/api/v1/workflows/${large.id}/execute`, { input: 'again' })).body.data;
  expect(another.status).toBe('COMPLETED');
});
