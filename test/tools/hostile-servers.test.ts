import { describe, expect, test } from '@jest/globals';
import { fakeTool } from '../fakes/mcp-server.ts';
import { httpServer } from '../loopback-server.ts';
import { until } from '../until.ts';
import { broken, fakeGithubOfTests } from './fake-github.ts';

const github = fakeGithubOfTests();

const tooMany = { text: 'The tool sent more than 1,000 notifications. The call was ended.', isError: true };

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
        await github.begin({ instead: (_, response) => Boolean(response.writeHead(307, { location }).end()) });
        await expect(github.list()).rejects.toMatchObject({ kind: 'service_unavailable', retryAfter: 10 });
        expect(await github.echo()).toEqual(broken);
        await github.fake.close();
      }
      expect(hits).toBe(0);
    } finally {
      await canary.close();
    }
  });

  test('cannot have a name that resolves to an address inside', async () => {
    const scope = await github.scene.newTenant('live');
    const rebinding = github.scene.open({}, { resolve: async () => ['10.0.0.1'] });
    await github.scene.configure(scope, 'github', {
      url: 'http://tools.example.com/mcp',
      secrets: { token: 'x' },
    });
    await expect(rebinding.tools.list(scope, ['github'], AbortSignal.timeout(60_000))).rejects.toMatchObject({
      message: 'The tool server github is not available.',
    });
  });

  test('cannot fill the memory with an endless answer, of JSON or of events', async () => {
    for (const type of ['application/json', 'text/event-stream']) {
      let sent = 0;
      await github.begin({
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
      expect(await github.echo()).toEqual({
        text: 'The tool answered with more than 4 MiB. Ask for less.',
        isError: true,
      });
      expect(sent).toBeLessThan(50_000_000);
      await github.fake.close();
    }
  });

  test.each([
    ['deep lists', '['.repeat(1_000_000)],
    ['many objects', `[${'{},'.repeat(600_000)}{}]`],
    ['many objects between blank lines', `[${`${'{},'.repeat(20_000)}\n\n`.repeat(40)}{}]`],
  ])('cannot occupy the process with %s', async (_, json) => {
    for (const type of ['application/json', 'text/event-stream']) {
      const isStream = type === 'text/event-stream';
      await github.begin({
        instead(_request, response, { method, id }) {
          if (method !== 'tools/call') return false;
          const answer = `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${json}}}`;
          response.writeHead(200, { 'content-type': type });
          response.end(isStream ? `data: ${answer.replaceAll('\n', '')}\n\n` : answer);
          return true;
        },
      });
      expect(await github.echo()).toEqual({
        text: 'The tool answered with JSON that is nested too deeply or has too many objects, lists and members. Ask for less.',
        isError: true,
      });
      await github.fake.close();
    }
  });

  const notification = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } };
  test.each<[string, string, string, object]>([
    ['notifications', 'text/event-stream', `data: ${JSON.stringify(notification)}\n\n`, tooMany],
    ['comments', 'text/event-stream', ':\n', tooMany],
    ['messages in one list', 'application/json', `${JSON.stringify(notification)},`, broken],
  ])('cannot occupy the process with %s without end', async (_, type, message, expected) => {
    await github.begin({
      instead(_, response, { method, id, params }) {
        if (method !== 'tools/call') return false;
        const times = params.arguments.times as number;
        const result = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
        const isList = type === 'application/json';
        const before = (isList ? '[' : '') + message.repeat(times);
        response.writeHead(200, { 'content-type': type });
        response.end(isList ? `${before}${result}]` : `${before}data: ${result}\n\n`);
        return true;
      },
    });
    if (expected === tooMany) expect(await github.echo({ times: 1_000 })).toEqual({ text: 'done', isError: false });
    const seconds: number[] = [];
    for (let call = 0; call < 3; call++) {
      const before = process.cpuUsage();
      expect(await github.echo({ times: 40_000 })).toEqual(expected);
      seconds.push(process.cpuUsage(before).user / 1_000_000);
    }
    // It was a second for each call. Other work on the machine makes a call look more expensive, never cheaper.
    expect(Math.min(...seconds)).toBeLessThan(0.5);
    await github.fake.close();
  });

  test('cannot have its requests answered by a thousand of ours', async () => {
    let takesAnswers = true;
    let answers = 0;
    await github.begin({
      instead(_, response, { method, id, params }) {
        if (method === undefined) {
          answers++;
          if (takesAnswers) response.writeHead(202).end();
          return true;
        }
        if (method !== 'tools/call') return false;
        const ping = (index: number) => `data: {"jsonrpc":"2.0","id":"ping-${index}","method":"ping"}\n\n`;
        const result = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(Array.from({ length: params.arguments.times as number }, (_, index) => ping(index)).join(''));
        const end = () => response.end(`data: ${result}\n\n`);
        // The result comes when the requests are answered, as with a server that waits for it.
        const begun = answers;
        const wait = setInterval(() => {
          if (answers - begun < params.arguments.times && !response.destroyed) return;
          clearInterval(wait);
          end();
        }, 10);
        return true;
      },
    });
    const tooManyRequests = { text: 'The tool sent more than 30 requests. The call was ended.', isError: true };
    const done = { text: 'done', isError: false };
    expect(await github.echo({ times: 30 })).toEqual(done);
    expect(answers).toBe(30);
    expect(await github.echo({ times: 900 })).toEqual(tooManyRequests);
    expect(answers).toBeLessThanOrEqual(60);
    takesAnswers = false;
    answers = 0;
    expect(await github.echo({ times: 20 })).toEqual(done);
    // Those of the last call are under way.
    expect(await github.echo({ times: 11 })).toEqual(tooManyRequests);
    expect(answers).toBeLessThanOrEqual(30);
  });

  test('that drips or says nothing is given up when the time is over', async () => {
    const hurried = github.scene.open({ callMs: 2_000 });
    let isAsked = false;
    let isOver = false;
    await github.begin({
      instead(_, response, { method }) {
        if (method !== 'tools/call') return false;
        isAsked = true;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const drip = setInterval(() => response.write(': x\n'), 50);
        response.once('close', () => {
          clearInterval(drip);
          isOver = true;
        });
        return true;
      },
    });
    // On a busy machine the time may be over before the server is asked: then it is called again.
    await until('the server is asked', async () => {
      expect(await hurried.call(github.scope, 'github_echo')).toEqual({
        text: 'The tool did not answer in 2 s.',
        isError: true,
      });
      return isAsked;
    });
    await until('the request is given up', async () => isOver);
  });

  test('that lists 10,000 tools has 64 of them, cut to their limits', async () => {
    await github.begin({
      tools: [
        fakeTool('long', { description: 'x'.repeat(5_000) }),
        fakeTool('large', { inputSchema: { type: 'object', description: 'x'.repeat(20_000) } }),
        fakeTool('with a space/and ü'),
        fakeTool('n'.repeat(100)),
        ...Array.from({ length: 10_000 }, (_, index) => fakeTool(`tool${index}`)),
      ],
    });
    const tools = await github.list();
    expect(tools).toHaveLength(64);
    expect(tools[0]!.description).toHaveLength(1_024);
    expect(tools.map(({ name }) => name).slice(0, 4)).toEqual([
      'github_long',
      'github_with_a_space_and__',
      `github_${'n'.repeat(57)}`,
      'github_tool0',
    ]);
    expect(github.fake.journal.filter(({ message }) => message.method === 'tools/list')).toHaveLength(2);
  });

  test('cannot have its schemas compiled, and what it changes after it was listed is its own answer', async () => {
    const pattern = '^(a+)+$';
    const outputSchema = { type: 'object', properties: { a: { type: 'string', pattern } }, required: ['a'] };
    await github.begin({
      tools: [fakeTool('echo', { outputSchema })],
      call: () => ({
        content: [{ type: 'text', text: 'not as it said' }],
        structuredContent: { a: `${'a'.repeat(40)}!` },
      }),
    });
    expect(await github.list()).toHaveLength(1);
    expect(await github.echo()).toEqual({ text: 'not as it said', isError: false });
    github.fake.tools = [fakeTool('other')];
    github.fake.call = (name) => ({ content: [{ type: 'text', text: `There is no ${name}.` }], isError: true });
    expect((await github.list()).map(({ tool }) => tool)).toEqual(['echo']);
    expect(await github.echo()).toEqual({ text: 'There is no echo.', isError: true });
  });

  test('that answers with nonsense, breaks off or refuses is distinguished', async () => {
    const answers: [string, (status: number, body: string) => [number, string], object][] = [
      ['nonsense', () => [200, '{"a":'], broken],
      ['an error', () => [500, 'stack trace'], broken],
      ['a refusal', () => [401, ''], { text: 'The tool server refused the credentials.', isError: true }],
    ];
    for (const [, answer, expected] of answers) {
      await github.begin({
        instead(_, response, { method }) {
          if (method !== 'tools/call') return false;
          const [status, body] = answer(200, '');
          response.writeHead(status, { 'content-type': 'application/json' }).end(body);
          return true;
        },
      });
      expect(await github.echo()).toEqual(expected);
      expect(github.fake.journal.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1);
      await github.fake.close();
    }
    await github.begin({
      instead(request, _, { method }) {
        if (method === 'tools/call') request.socket.destroy();
        return method === 'tools/call';
      },
    });
    expect(await github.echo()).toEqual(broken);
    expect(github.fake.journal.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1);
  });
});
