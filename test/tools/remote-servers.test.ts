import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Scope } from '../../src/platform/scope.ts';
import { listToolServers } from '../../src/tools/configurations.ts';
import { type FakeMcpServer, fakeMcpServer } from '../fakes/mcp-server.ts';
import { until } from '../until.ts';
import { openToolScene, type ToolProcess, type ToolScene } from './tool-scene.ts';

let scene: ToolScene;
let one: ToolProcess;
let scope: Scope;
let fake: FakeMcpServer;

beforeAll(async () => {
  scene = await openToolScene();
  one = scene.open();
});
afterAll(() => scene.close());

/** A tenant whose `github` is a fake. */
async function withFake(given: Parameters<typeof fakeMcpServer>[0] = {}): Promise<void> {
  fake = await fakeMcpServer(given);
  scope = await scene.newTenant('live');
  await scene.configure(scope, 'github', { url: fake.url, secrets: { token: 'secret-1' } });
}
afterEach(() => fake?.close());

const signal = () => AbortSignal.timeout(60_000);
const list = () => one.tools.list(scope, ['github'], signal());
const broken = { text: 'The tool server ended or broke off before it answered.', isError: true };

describe('a live tenant', () => {
  test('names what is configured and enabled, each once', async () => {
    const live = await scene.newTenant('live');
    const errorsOf = (ids: string[]) =>
      one.tools.check(live, ids).then(
        () => [],
        ({ facts }) => facts.errors,
      );
    await scene.configure(live, 'filesystem', {});
    await scene.configure(live, 'sqlite', { enabled: false });
    expect(await one.tools.check(live, ['filesystem', 'filesystem'])).toEqual(['filesystem']);
    expect(await one.tools.check(live, [])).toEqual([]);
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
    expect(await one.call(live, 'sqlite_query', { sql: 'select 1' })).toMatchObject({ isError: true });
  });

  test('reaches its server with its token, and sees which functions it has', async () => {
    await withFake();
    expect(await list()).toEqual([
      {
        ...{ server: 'github', tool: 'echo', name: 'github_echo', description: 'Does echo.', idempotent: false },
        inputSchema: { type: 'object', properties: {} },
      },
    ]);
    expect(await one.call(scope, 'github_echo', { a: 1 })).toEqual({ text: 'echo {"a":1}', isError: false });
    expect(fake.journal.map(({ headers }) => headers.authorization)).toEqual(fake.journal.map(() => 'Bearer secret-1'));
    const shown = (await listToolServers(scope)).find(({ id }) => id === 'github');
    expect(shown).toMatchObject({ functions: ['echo'], secrets: ['token'], url: fake.url });
    expect(JSON.stringify(shown)).not.toContain('secret-1');
  });

  test('uses the new configuration at once', async () => {
    await withFake();
    await one.call(scope, 'github_echo');
    await scene.configure(scope, 'github', { secrets: { token: 'secret-2' } });
    await one.call(scope, 'github_echo');
    expect(fake.journal.at(-1)!.headers.authorization).toBe('Bearer secret-2');
    await scene.configure(scope, 'github', { enabled: false });
    expect(await one.call(scope, 'github_echo')).toMatchObject({ text: 'The tool server github is not configured.' });
  });
});

test('a session that the server forgot is begun anew, and the call is made once', async () => {
  await withFake();
  await one.call(scope, 'github_echo');
  fake.forget();
  expect(await one.call(scope, 'github_echo', { again: true })).toEqual({
    text: 'echo {"again":true}',
    isError: false,
  });
});

test('calls of one server of a tenant are one at a time in all processes, and others go on beside them', async () => {
  let now = 0;
  let most = 0;
  await withFake({
    async call() {
      most = Math.max(most, ++now);
      await sleep(50);
      now--;
      return { content: [{ type: 'text', text: 'done' }] };
    },
  });
  const processes = [one, scene.open(), scene.open()];
  const calls = processes.flatMap((process) => [1, 2, 3].map(() => process.call(scope, 'github_echo')));
  expect((await Promise.all(calls)).filter(({ text }) => text === 'done')).toHaveLength(9);
  expect(most).toBe(1);
  const hurried = scene.open({ turnMs: 100 });
  const [first, late] = [one.call(scope, 'github_echo'), sleep(10).then(() => hurried.call(scope, 'github_echo'))];
  fake.call = async () => {
    await sleep(1_000);
    return { content: [] };
  };
  await first;
  void late;
  const slow = one.call(scope, 'github_echo');
  await until('it has its turn', async () => fake.journal.length > 0 && sleep(100).then(() => true));
  expect(await hurried.call(scope, 'github_echo')).toEqual({
    ...{ text: 'The tool did not answer in 0.1 s.', isError: true },
  });
  await Promise.all([slow, late]);
});

test('what is idle is closed, and an organization has so many connections and no more', async () => {
  await withFake();
  const small = scene.open({
    idleMs: 200,
    perOrganization: { local: 1, remote: 2 },
    perProcess: { local: 2, remote: 3 },
  });
  const servers = ['github', 'slack', 'notion', 'docker'];
  for (const server of servers.slice(1))
    await scene.configure(scope, server, { url: fake.url, secrets: { token: 'x' } });
  const results = await Promise.all(servers.map((server) => small.call(scope, `${server}_echo`)));
  expect(results.filter(({ isError }) => isError)).toEqual([]);
  expect(small.connections.size).toBeLessThanOrEqual(2);
  await until('idle connections are closed', async () => small.connections.size === 0);
});

describe('the reference server', () => {
  let everything: ChildProcess;
  let port = 0;
  beforeAll(async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((listening) => probe.once('listening', listening));
    port = (probe.address() as { port: number }).port;
    await new Promise((closed) => probe.close(closed));
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

  test('is used over streamable HTTP, and its end is told', async () => {
    scope = await scene.newTenant('live');
    await scene.configure(scope, 'docker', { url: `http://127.0.0.1:${port}/mcp` });
    const tools = await one.tools.list(scope, ['docker'], signal());
    expect(tools.map(({ name }) => name)).toContain('docker_echo');
    expect(await one.call(scope, 'docker_echo', { message: 'hello' })).toEqual({ text: 'Echo: hello', isError: false });
    const image = await one.call(scope, 'docker_get-tiny-image', {});
    expect(image.text).toMatch(/\[image\/png, \d+ bytes\]/);
    expect(await one.call(scope, 'docker_echo', {})).toMatchObject({ isError: true });
    everything.kill('SIGKILL');
    expect(await one.call(scope, 'docker_echo', { message: 'hello' })).toEqual(broken);
  });
});
