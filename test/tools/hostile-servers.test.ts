import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Scope } from '../../src/platform/scope.ts';
import { type FakeMcpServer, fakeMcpServer, fakeTool } from '../fakes/mcp-server.ts';
import { httpServer } from '../loopback-server.ts';
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

describe('a hostile server', () => {
  test('cannot lead a request elsewhere', async () => {
    let hits = 0;
    const canary = await httpServer((_, response) => {
      hits++;
      response.end();
    });
    try {
      for (const location of [
        `http://127.0.0.1:${canary.port}/mcp`,
        `http://127.0.0.2:${canary.port}/`,
        'file:///etc/passwd',
      ]) {
        await withFake({ instead: (_, response) => Boolean(response.writeHead(307, { location }).end()) });
        await expect(list()).rejects.toMatchObject({ kind: 'service_unavailable', retryAfter: 10 });
        expect(await one.call(scope, 'github_echo')).toEqual(broken);
        await fake.close();
      }
      expect(hits).toBe(0);
    } finally {
      await canary.close();
    }
  });

  test('cannot have a name that resolves to an address inside', async () => {
    scope = await scene.newTenant('live');
    const rebinding = scene.open({}, { resolve: async () => ['10.0.0.1'] });
    await scene.configure(scope, 'github', { url: 'http://tools.example.com/mcp', secrets: { token: 'x' } });
    await expect(rebinding.tools.list(scope, ['github'], signal())).rejects.toMatchObject({
      message: 'The tool server github is not available.',
    });
  });

  test('cannot fill the memory with an endless answer, of JSON or of events', async () => {
    for (const type of ['application/json', 'text/event-stream']) {
      let sent = 0;
      await withFake({
        instead(_, response, { method }) {
          if (method !== 'tools/call') return false;
          response.writeHead(200, { 'content-type': type });
          const pour = () => {
            while (!response.destroyed && sent < 100_000_000) {
              sent += 65_536;
              if (!response.write('data: x'.padEnd(65_536, 'y'))) return void response.once('drain', pour);
            }
          };
          pour();
          return true;
        },
      });
      expect(await one.call(scope, 'github_echo')).toEqual({
        ...{ text: 'The tool answered with more than 4 MiB. Ask for less.', isError: true },
      });
      expect(sent).toBeLessThan(50_000_000);
      await fake.close();
    }
  });

  test('that drips or says nothing is given up when the time is over', async () => {
    const hurried = scene.open({ callMs: 500 });
    let isOver = false;
    await withFake({
      instead(_, response, { method }) {
        if (method !== 'tools/call') return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const drip = setInterval(() => response.write(': x\n'), 50);
        response.once('close', () => {
          clearInterval(drip);
          isOver = true;
        });
        return true;
      },
    });
    expect(await hurried.call(scope, 'github_echo')).toEqual({
      ...{ text: 'The tool did not answer in 0.5 s.', isError: true },
    });
    await until('the request is given up', async () => isOver);
  });

  test('that lists 10,000 tools has 64 of them, cut to their limits', async () => {
    await withFake({
      tools: [
        fakeTool('long', { description: 'x'.repeat(5_000) }),
        fakeTool('large', { inputSchema: { type: 'object', description: 'x'.repeat(20_000) } }),
        fakeTool('with a space/and ü'),
        fakeTool('n'.repeat(100)),
        ...Array.from({ length: 10_000 }, (_, index) => fakeTool(`tool${index}`)),
      ],
    });
    const tools = await list();
    expect(tools).toHaveLength(64);
    expect(tools[0]!.description).toHaveLength(1_024);
    expect(tools.map(({ name }) => name).slice(0, 4)).toEqual([
      ...['github_long', 'github_with_a_space_and__', `github_${'n'.repeat(57)}`, 'github_tool0'],
    ]);
    expect(fake.journal.filter(({ message }) => message.method === 'tools/list')).toHaveLength(2);
  });

  test('cannot have its schemas compiled, and what it changes after it was listed is its own answer', async () => {
    const pattern = '^(a+)+$';
    const outputSchema = { type: 'object', properties: { a: { type: 'string', pattern } }, required: ['a'] };
    await withFake({
      tools: [fakeTool('echo', { outputSchema })],
      call: () => ({
        content: [{ type: 'text', text: 'not as it said' }],
        structuredContent: { a: `${'a'.repeat(40)}!` },
      }),
    });
    expect(await list()).toHaveLength(1);
    expect(await one.call(scope, 'github_echo')).toEqual({ text: 'not as it said', isError: false });
    fake.tools = [fakeTool('other')];
    fake.call = (name) => ({ content: [{ type: 'text', text: `There is no ${name}.` }], isError: true });
    expect((await list()).map(({ tool }) => tool)).toEqual(['echo']);
    expect(await one.call(scope, 'github_echo')).toEqual({ text: 'There is no echo.', isError: true });
  });

  test('that answers with nonsense, breaks off or refuses is told apart', async () => {
    const answers: [string, (status: number, body: string) => [number, string], object][] = [
      ['nonsense', () => [200, '{"a":'], broken],
      ['an error', () => [500, 'stack trace'], broken],
      ['a refusal', () => [401, ''], { text: 'The tool server refused the credentials.', isError: true }],
    ];
    for (const [, answer, expected] of answers) {
      await withFake({
        instead(_, response, { method }) {
          if (method !== 'tools/call') return false;
          const [status, body] = answer(200, '');
          response.writeHead(status, { 'content-type': 'application/json' }).end(body);
          return true;
        },
      });
      expect(await one.call(scope, 'github_echo')).toEqual(expected);
      expect(fake.journal.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1);
      await fake.close();
    }
    await withFake({
      instead(request, _, { method }) {
        if (method === 'tools/call') request.socket.destroy();
        return method === 'tools/call';
      },
    });
    expect(await one.call(scope, 'github_echo')).toEqual(broken);
    expect(fake.journal.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1);
  });
});
