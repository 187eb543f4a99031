import { type ExecFileException, execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isRoot, UNPRIVILEGED } from '../../local/postgres/postgres-binaries.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { httpServer } from '../loopback-server.ts';
import { until } from '../until.ts';
import { allGone, root, StackFolder, type StackProcesses, type Start, shellEnvironment } from './stack-folder.ts';

const run = promisify(execFile);

let folder: StackFolder;
/** The first start of all, as a person types it. */
let first: Start;
let processes: StackProcesses;
let shown: Record<'api' | 'reference' | 'guides' | 'temporalUi' | 'organization' | 'testKey' | 'liveKey', string>;
let api: ApiClient;

beforeAll(async () => {
  folder = new StackFolder();
  first = folder.start({ by: 'npm', json: false });
  await first.says(/Ctrl-C stops everything/);
  processes = folder.processes();
  const find = (pattern: RegExp) => pattern.exec(first.stdout)?.[1] ?? '';
  shown = {
    api: find(/^ +API +(http\S+)$/m),
    reference: find(/^ +Reference +(http\S+)$/m),
    guides: find(/^ +Guides +(http\S+)$/m),
    temporalUi: find(/^ +Temporal UI +(http\S+)$/m),
    organization: find(/^ +Organization +(\S+)$/m),
    testKey: find(/^ +Test key +(\S+)$/m),
    liveKey: find(/^ +Live key +(\S+)$/m),
  };
  api = apiClient(shown.api, shown.testKey);
});

afterAll(() => folder.close());

/** A run of one step that ended well, in Temporal's own web interface. */
async function seenInTemporalUi(temporalUi: string, runId: string): Promise<string> {
  return until('Temporal UI shows the workflow as closed', async () => {
    const answer = await fetch(`${temporalUi}/api/v1/namespaces/default/workflows/run-${runId}`);
    const { workflowExecutionInfo: info } = (await answer.json()) as { workflowExecutionInfo?: { status: string } };
    return info?.status.endsWith('RUNNING') ? undefined : info?.status;
  });
}

async function executed(): Promise<{ workflowId: string; runId: string }> {
  const steps = [{ id: 'say', type: 'prompt', prompt: 'Say {{input}}' }];
  const workflow = await api.post('/api/v1/workflows', { name: 'Kept', steps });
  const workflowId = workflow.body.data.id;
  const { body } = await api.post(`/api/v1/workflows/${workflowId}/execute`, { input: 'Ada' });
  expect(body).toMatchObject({ success: true, data: { status: 'COMPLETED' } });
  return { workflowId, runId: body.data.runId };
}

/** The command as the README prints it, with nothing set but the data folder. */
async function cli(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...shellEnvironment(), ATELIER_DATA: folder.data };
  try {
    const said = await run('npm', ['run', '--silent', 'cli', '--', ...args, '--json'], { cwd: root, env });
    return { code: 0, ...said };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as ExecFileException;
    return { code: Number(code), stdout, stderr };
  }
}

describe('the first npm start', () => {
  test('shows the addresses, the organization and both keys', async () => {
    expect(shown).toEqual({
      api: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      reference: `${shown.api}/docs`,
      guides: `${shown.api}/docs/guides`,
      temporalUi: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      organization: expect.stringMatching(/^org_[0-9a-f]{32}$/),
      testKey: expect.stringMatching(/^sk_test_\w{42}$/),
      liveKey: expect.stringMatching(/^sk_live_\w{42}$/),
    });
    for (const page of [shown.reference, shown.guides]) expect((await fetch(page)).status).toBe(200);
  });

  test('shows three commands to paste, the last of which answers with a COMPLETED run that Temporal UI shows', async () => {
    const commands = /^export KEY=.*\n\n(?:curl .*\n.*\n\n){2}/m.exec(first.stdout)![0].trim().split('\n\n');
    expect(commands).toHaveLength(3);
    const [key, create, execute] = commands as [string, string, string];
    const paste = async (command: string) => {
      const { stdout } = await run('sh', ['-ec', `${key}\n${command}`], { env: shellEnvironment() });
      return JSON.parse(stdout).data;
    };
    const { id } = await paste(create);
    const { runId, ...result } = await paste(execute.replace('WORKFLOW_ID', id));
    expect(result).toMatchObject({ status: 'COMPLETED', output: expect.stringContaining('Greet Ada.') });
    expect(await seenInTemporalUi(shown.temporalUi, runId)).toBe('WORKFLOW_EXECUTION_STATUS_COMPLETED');
  });

  test('delivers to a receiver on its own machine, and gives processes started by hand the settings for it', async () => {
    let received = 0;
    const receiver = await httpServer((_, response) => {
      received++;
      response.end();
    });
    const hook = { name: 'Mine', url: `http://localhost:${receiver.port}/`, events: ['test.webhook'] };
    const { id } = (await api.post('/api/v1/webhooks', hook)).body.data;
    await api.post(`/api/v1/webhooks/${id}/test`);
    await until('the event has arrived', async () => received === 1);
    await receiver.close();
    const { environment } = JSON.parse(readFileSync(folder.file('connection.json'), 'utf8'));
    expect(environment).toMatchObject({ EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128' });
    expect(Object.keys(environment)).not.toContain('EGRESS_DENY_CIDRS');
    // The product's login owns nothing; migrations have another one.
    const userOf = (name: string) => new URL(environment[name]).username;
    expect([userOf('DATABASE_URL'), userOf('MIGRATION_DATABASE_URL')]).toEqual(['atelier_app', 'atelier']);
  });

  test('keeps what is secret for the owner alone', () => {
    for (const name of ['credentials.json', 'secrets.json', 'connection.json', 'holding.json', 'logs/app.log']) {
      expect(`${name} ${(statSync(folder.file(name)).mode & 0o777).toString(8)}`).toBe(`${name} 600`);
    }
  });

  test('runs PostgreSQL as an ordinary user, below a folder that only its owner may enter', () => {
    expect(statSync(join(folder.data, '..')).mode & 0o777).toBe(0o700);
    const expected = isRoot() ? UNPRIVILEGED.uid : process.getuid?.();
    expect(expected).not.toBe(0);
    expect(statSync(folder.file('postgres')).uid).toBe(expected);
  });

  test("takes operators' commands, which find it by its data folder", async () => {
    const organization = await cli('org', 'create', '--name', 'Acme', '--plan', 'pro');
    expect(organization).toMatchObject({ code: 0, stderr: '' });
    const { id, ...rest } = JSON.parse(organization.stdout);
    expect(rest).toEqual({ name: 'Acme', plan: 'pro' });
    const [made, refused] = await Promise.all([
      cli('key', 'create', '--org', id, '--env', 'test'),
      cli('key', 'list', '--org', 'org_00000000000000000000000000000000'),
    ]);
    const health = await apiClient(shown.api, JSON.parse(made.stdout).key).get('/api/v1/health');
    expect(health.status).toBe(200);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    const migrated = await cli('migrate');
    expect(migrated).toMatchObject({ code: 0 });
    expect(JSON.parse(migrated.stdout).migrated).toEqual([]);
    expect(JSON.parse(refused.stderr)).toEqual({ error: { code: expect.any(String), message: expect.any(String) } });
  });

  test('refuses a second start on the folder, and is not disturbed by it', async () => {
    const second = folder.start();
    expect(await second.ended).toBe(1);
    expect(second.stdout).toBe('');
    expect(second.stderr).toBe(
      `Atelier already runs on ${folder.data} (process ${processes.starter.pid}). Stop it first, or set ATELIER_DATA to another folder.\n`,
    );
    expect(folder.processes()).toEqual(processes);
    await executed();
  });

  test('names the variable of a data folder that cannot be one', async () => {
    const file = folder.file('secrets.json');
    const start = folder.start({ env: { ATELIER_DATA: file } });
    expect(await start.ended).toBe(1);
    expect(start.stdout).toBe('');
    expect(start.stderr).toMatch(/^ATELIER_DATA: .*secrets\.json cannot be used as a folder \(EEXIST.*\)\.\n$/);
  });

  test('refuses data that it cannot use with one sentence, and moves it aside only when that is confirmed', async () => {
    const other = new StackFolder();
    try {
      mkdirSync(other.file('postgres'), { recursive: true });
      writeFileSync(other.file('postgres/PG_VERSION'), '12\n');
      const refused = other.start();
      expect(await refused.ended).toBe(1);
      expect(refused.stderr.trimEnd()).toMatch(
        /^The data in .* PostgreSQL 12 .*"npm start -- --reset" .* begins anew.*\.$/,
      );
      const unconfirmed = other.start({ flags: ['--reset'] });
      expect(await unconfirmed.ended).toBe(1);
      expect(unconfirmed.stderr).toContain('confirm with --yes');
      expect(existsSync(other.file('postgres/PG_VERSION'))).toBe(true);
    } finally {
      other.close();
    }
  });

  test('names the variable of each port that is taken, and leaves nothing behind', async () => {
    const server = createServer().listen({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const other = new StackFolder();
    other.takeBuiltBundle();
    const start = other.start({ env: { PORT: String(port), POSTGRES_PORT: String(port) } });
    expect(await start.ended).toBe(1);
    expect(start.stdout).toBe('');
    expect(start.stderr).toContain(
      `PORT ${port} is taken: set PORT to another one.\nPOSTGRES_PORT ${port} is taken: set POSTGRES_PORT to another one.`,
    );
    expect(existsSync(other.file('holding.json'))).toBe(false);
    other.close();
    server.close();
  });
});

describe('the starts after it', () => {
  // In order: each one begins where the one before it ended.
  let kept: { workflowId: string; runId: string };

  test('Ctrl-C reaches the whole terminal group at once: everything drains, nothing is left', async () => {
    kept = await executed();
    process.kill(-first.process.pid, 'SIGINT');
    await first.ended;
    await allGone({ ...processes });
    expect(first.stdout).toMatch(/Stopping \(SIGINT\)\n.*app\n.*temporal\n.*postgres\nStopped\./);
    expect(existsSync(folder.file('holding.json'))).toBe(false);
    expect(existsSync(folder.file('connection.json'))).toBe(false);
  });

  test('npm killed with -9: the stack drains by itself, and the next start waits for it and shows the same', async () => {
    const byNpm = folder.start({ by: 'npm' });
    const { organizationId, testKey, liveKey } = await byNpm.ready();
    expect({ testKey, liveKey }).toEqual({ testKey: shown.testKey, liveKey: shown.liveKey });
    const before = folder.processes();
    // Held back, PostgreSQL keeps the drain from its end until the next start has met it.
    process.kill(before.postgres.pid, 'SIGSTOP');
    process.kill(byNpm.process.pid, 'SIGKILL');
    await until('the stack drains', async () => folder.holding().state === 'draining');
    const next = folder.start();
    await next.says(new RegExp(`Waiting for process ${before.starter.pid}, which is still stopping`));
    process.kill(before.postgres.pid, 'SIGCONT');

    const ready = await next.ready();
    await allGone(before);
    expect(next.stdout).toBe(`${JSON.stringify(ready)}\n`);
    expect(ready).toEqual({
      ready: true,
      pid: next.process.pid,
      api: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      temporal: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      temporalUi: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      organizationId,
      testKey,
      liveKey,
      signInLink: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/api\/auth\/link\/[\w-]{43}$/),
    });
    const again = apiClient(ready.api, testKey);
    expect((await again.get(`/api/v1/workflows/${kept.workflowId}`)).status).toBe(200);
    expect((await again.get(`/api/v1/runs/${kept.runId}`)).body.data.status).toBe('COMPLETED');
    expect(await seenInTemporalUi(ready.temporalUi, kept.runId)).toBe('WORKFLOW_EXECUTION_STATUS_COMPLETED');

    const last = folder.processes();
    process.kill(last.starter.pid, 'SIGTERM');
    expect(await next.ended).toBe(0);
    await allGone(last);
    expect(next.stderr).toMatch(/Stopping \(SIGTERM\)\n.*app\n.*temporal\n.*postgres\nStopped\.\n$/);
  }, 180_000);
});
