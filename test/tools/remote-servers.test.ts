import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findFreePort } from '../../local/ports.ts';
import { listToolServers } from '../../src/tools/configurations.ts';
import { ToolLocks } from '../../src/tools/tool-locks.ts';
import { until } from '../until.ts';
import { broken, fakeGithubOfTests } from './fake-github.ts';

const github = fakeGithubOfTests();

describe('a live tenant', () => {
  test('names what is configured and enabled, each once', async () => {
    const live = await github.scene.newTenant('live');
    const errorsOf = (ids: string[]) =>
      github.one.tools.check(live, ids).then(
        () => [],
        ({ facts }) => facts.errors,
      );
    await github.scene.configure(live, 'filesystem', {});
    await github.scene.configure(live, 'sqlite', { enabled: false });
    expect(await github.one.tools.check(live, ['filesystem', 'filesystem'])).toEqual(['filesystem']);
    expect(await github.one.tools.check(live, [])).toEqual([]);
    expect(await errorsOf(['filesystem', 'nothing', 'FILESYSTEM', '__proto__'])).toEqual([
      { path: 'mcpServers.1', message: 'nothing is not a tool server.' },
      { path: 'mcpServers.2', message: 'FILESYSTEM is not a tool server.' },
      { path: 'mcpServers.3', message: '__proto__ is not a tool server.' },
    ]);
    expect(await errorsOf(['sqlite', 'filesystem', 'github'])).toEqual([
      { path: 'mcpServers.0', message: 'sqlite is not configured.' },
      { path: 'mcpServers.2', message: 'github is not configured.' },
    ]);
    expect(await errorsOf(Array(13).fill('filesystem'))).toHaveLength(1);
    expect(await github.one.call(live, 'sqlite_query', { sql: 'select 1' })).toMatchObject({ isError: true });
  });

  test('reaches its server with its token, and sees which functions it has', async () => {
    await github.begin();
    expect(await github.list()).toEqual([
      {
        server: 'github',
        tool: 'echo',
        name: 'github_echo',
        description: 'Does echo.',
        idempotent: false,
        inputSchema: { type: 'object', properties: {} },
      },
    ]);
    expect(await github.echo({ a: 1 })).toEqual({ text: 'echo {"a":1}', isError: false });
    expect(github.fake.journal.map(({ headers }) => headers.authorization)).toEqual(
      github.fake.journal.map(() => 'Bearer secret-1'),
    );
    const shown = (await listToolServers(github.scope)).find(({ id }) => id === 'github');
    expect(shown).toMatchObject({ functions: ['echo'], secrets: ['token'], url: github.fake.url });
    expect(JSON.stringify(shown)).not.toContain('secret-1');
  });

  test('uses the new configuration at once', async () => {
    await github.begin();
    await github.echo();
    await github.scene.configure(github.scope, 'github', { secrets: { token: 'secret-2' } });
    await github.echo();
    expect(github.fake.journal.at(-1)!.headers.authorization).toBe('Bearer secret-2');
    await github.scene.configure(github.scope, 'github', { enabled: false });
    expect(await github.echo()).toMatchObject({ text: 'The tool server github is not configured.' });
  });
});

test('a session that the server forgot is begun anew, and the call is made once', async () => {
  await github.begin();
  await github.echo();
  github.fake.forget();
  expect(await github.echo({ again: true })).toEqual({
    text: 'echo {"again":true}',
    isError: false,
  });
});

test('a session that the server forgot is begun anew once for all who ask, so that none is left there', async () => {
  await github.begin();
  await github.echo();
  github.fake.forget();
  expect(await Promise.all([github.list(), github.echo()])).toEqual([
    [expect.objectContaining({ name: 'github_echo' })],
    { text: 'echo {}', isError: false },
  ]);
  expect(github.fake.journal.filter(({ message }) => message.method === 'initialize')).toHaveLength(2);
});

test('a session whose begin fails is ended at the server', async () => {
  const ended: unknown[] = [];
  await github.begin({
    async instead({ method, headers }, response, message) {
      if (method === 'DELETE') ended.push(headers['mcp-session-id']);
      const fails = message.method === 'notifications/initialized';
      if (fails) response.writeHead(500).end();
      return fails;
    },
  });
  expect(await github.echo()).toMatchObject({ isError: true });
  await until('it is ended', async () => ended.length > 0);
  expect(ended).toEqual(['session-1']);
});

test('calls of one server of a tenant are one at a time in all processes, and others go on beside them', async () => {
  let now = 0;
  let max = 0;
  await github.begin({
    async call() {
      max = Math.max(max, ++now);
      await sleep(50);
      now--;
      return { content: [{ type: 'text', text: 'done' }] };
    },
  });
  const processes = [github.one, github.scene.open(), github.scene.open()];
  const calls = processes.flatMap((process) => [1, 2, 3].map(() => process.call(github.scope, 'github_echo')));
  expect((await Promise.all(calls)).filter(({ text }) => text === 'done')).toHaveLength(9);
  expect(max).toBe(1);
  const hurried = github.scene.open({ lockWaitMs: 100 });
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  github.fake.call = async () => {
    asked.resolve();
    await answered.promise;
    return { content: [] };
  };
  const slow = github.echo();
  await asked.promise;
  expect(await hurried.call(github.scope, 'github_echo')).toEqual({
    text: 'The tool did not answer in 0.1 s.',
    isError: true,
  });
  answered.resolve();
  await slow;
});

test('a lock that PostgreSQL gave too late is given back', async () => {
  const { database, databaseUrl, newTenant } = github.scene;
  const tenant = await newTenant();
  const { signal } = new AbortController();
  const [slow, other] = [new ToolLocks(databaseUrl, 2_000), new ToolLocks(databaseUrl)];
  /** PostgreSQL may take longer than two seconds on a busy machine: then it is asked again. */
  const taken = (locks: ToolLocks) =>
    until('the lock is given', () => locks.take(tenant, 'filesystem', signal).catch(() => undefined));
  const lock = await taken(slow);
  const found = await database.pool.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`,
  );
  await lock.end();
  const { pid } = found.rows[0]!;
  process.kill(pid, 'SIGSTOP');
  try {
    await expect(slow.take(tenant, 'filesystem', signal)).rejects.toThrow('timeout');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  for (const locks of [other, slow]) await (await taken(locks)).end();
  await Promise.all([slow.close(), other.close()]);
});

test('what is idle is closed, and an organization has so many connections and no more', async () => {
  await github.begin();
  const small = github.scene.open({
    idleMs: 200,
    perOrganization: { local: 1, remote: 2 },
    perProcess: { local: 2, remote: 3 },
  });
  const servers = ['github', 'slack', 'notion', 'docker'];
  for (const server of servers.slice(1))
    await github.scene.configure(github.scope, server, { url: github.fake.url, secrets: { token: 'x' } });
  const results = await Promise.all(servers.map((server) => small.call(github.scope, `${server}_echo`)));
  expect(results.filter(({ isError }) => isError)).toEqual([]);
  expect(small.connections.size).toBeLessThanOrEqual(2);
  await until('idle connections are closed', async () => small.connections.size === 0);
});

describe('the reference server', () => {
  let everything: ChildProcess;
  let port = 0;
  beforeAll(async () => {
    port = await findFreePort();
    const program = join(
      import.meta.dirname,
      '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    );
    everything = spawn(process.execPath, [program, 'streamableHttp'], { env: { PORT: String(port) }, stdio: 'ignore' });
    await until('it listens', () =>
      fetch(`http://127.0.0.1:${port}/mcp`).then(
        () => true,
        () => false,
      ),
    );
  });
  afterAll(() => void everything.kill('SIGKILL'));

  test('is used over streamable HTTP, and its end is reported', async () => {
    const scope = await github.scene.newTenant('live');
    await github.scene.configure(scope, 'docker', { url: `http://127.0.0.1:${port}/mcp` });
    const tools = await github.one.tools.list(scope, ['docker'], AbortSignal.timeout(60_000));
    expect(tools.map(({ name }) => name)).toContain('docker_echo');
    expect(await github.one.call(scope, 'docker_echo', { message: 'hello' })).toEqual({
      text: 'Echo: hello',
      isError: false,
    });
    const image = await github.one.call(scope, 'docker_get-tiny-image', {});
    expect(image.text).toMatch(/\[image\/png, \d+ bytes\]/);
    expect(await github.one.call(scope, 'docker_echo', {})).toMatchObject({ isError: true });
    everything.kill('SIGKILL');
    expect(await github.one.call(scope, 'docker_echo', { message: 'hello' })).toEqual(broken);
  });
});
