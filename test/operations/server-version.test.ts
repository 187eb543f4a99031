import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCli } from '../cli/run-cli.ts';
import { startOldPostgres } from '../fakes/old-postgres.ts';
import type { LoopbackServer } from '../loopback-server.ts';
import { startProcess } from '../product-process.ts';

const sentence = 'Atelier needs PostgreSQL 18 or newer. This server is PostgreSQL 15.18 (Debian 15.18-0+deb12u1).';

let server: LoopbackServer;
let url: string;
beforeAll(async () => {
  server = await startOldPostgres('15.18 (Debian 15.18-0+deb12u1)');
  url = `postgresql://atelier@127.0.0.1:${server.port}/atelier`;
});
afterAll(() => server.close());

test.each([['migrate'], ['org list']])(
  'the command %s refuses an older PostgreSQL in one sentence',
  async (command) => {
    const { exitCode, stdout, stderr } = await runCli([...command.split(' '), '--json'], { DATABASE_URL: url });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'environment', message: sentence } });
  },
);

test.each([['api'], ['housekeeping']] as const)('a process with the role %s refuses it too', async (role) => {
  const started = startProcess([role], { databaseUrl: url, taskQueuePrefix: 'old-postgres-' });
  await expect(started).rejects.toThrow(sentence);
});
