import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { Atelier, type AtelierError, type ClientOptions } from '../../sdk/typescript/src/index.ts';
import { httpServer, type LoopbackServer } from '../loopback-server.ts';
import { until } from '../until.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => unknown;

interface Seen {
  line: string;
  key: string | undefined;
  lastEventId: string | undefined;
  body: string;
}

const opened: LoopbackServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

/** A client of a server that gives each request the next answer. The last one is for all others too. */
async function clientOf(answers: Answer[], options: Partial<ClientOptions> = {}) {
  const seen: Seen[] = [];
  const server = await httpServer(async (request, response) => {
    const answer = answers[Math.min(seen.length, answers.length - 1)]!;
    const one: Seen = {
      line: `${request.method} ${request.url}`,
      key: request.headers['idempotency-key'] as string | undefined,
      lastEventId: request.headers['last-event-id'] as string | undefined,
      body: '',
    };
    seen.push(one);
    request.on('data', (piece) => (one.body += piece));
    request.on('error', () => {});
    request.on('end', () => answer(response, request));
  });
  opened.push(server);
  const baseUrl = `http://127.0.0.1:${server.port}`;
  return { atelier: new Atelier({ baseUrl, apiKey: 'sk_test_x', timeoutMs: 60_000, ...options }), seen, server };
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const failure = (status: number, code: string, headers?: Record<string, string>) =>
  json(status, { success: false, error: { code, message: 'No.', requestId: 'r1' } }, headers);
const run = { id: 'r', status: 'COMPLETED' };
const ok = (data: unknown = run) => json(200, { success: true, data });
const drop: Answer = (response) => response.destroy();
const stall: Answer = () => {};
const cut: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"success": true');
  setTimeout(() => response.destroy(), 10);
};
const soon = { 'retry-after': '0' };
const rejection = (promise: Promise<unknown>): Promise<AtelierError> =>
  promise.then(
    () => Promise.reject(new Error('It succeeded.')),
    (error) => error,
  );

/** For a call whose time a busy machine may use up: that it did is not its failure, and anything else is. */
const unlessTimeout = (error: Error): undefined => {
  if (error.name !== 'TimeoutError') throw error;
};

test.each<[string, Answer]>([
  ['a lost connection', drop],
  ['an answer that ends early', cut],
  ['an answer that is no JSON', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
  ['JSON that is none of ours', json(200, { hello: 'world' })],
  ['an empty answer', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end()],
  ['408', failure(408, 'timeout', soon)],
  ['429', failure(429, 'rate_limit_exceeded', soon)],
  ['502', (response) => response.writeHead(502, soon).end('Bad gateway')],
  ['503', failure(503, 'service_unavailable', soon)],
  ['504', failure(504, 'timeout', soon)],
  ['a request of the same key in progress', failure(409, 'idempotency_in_progress', soon)],
])('%s is repeated, with the key of the first attempt', async (_, fault) => {
  const { atelier, seen } = await clientOf([fault, ok()]);
  await expect(atelier.workflows.create({ name: 'Once' })).resolves.toEqual(run);
  expect(seen).toHaveLength(2);
  expect(seen[0]!.key).toMatch(/^[0-9a-f-]{36}$/);
  expect(seen[1]).toEqual(seen[0]);
});

test('a stalled answer is repeated after its time, and ends as a TimeoutError', async () => {
  const seen = await until('both attempts arrive', async () => {
    const { atelier, seen } = await clientOf([stall], { timeoutMs: 1_000, maxRetries: 1 });
    expect(await rejection(atelier.runs.get('r'))).toMatchObject({ name: 'TimeoutError', status: null, code: null });
    // On a busy machine the time of one may be over before it is sent.
    return seen.length >= 2 && seen;
  });
  expect(seen).toHaveLength(2);
});

test('what must not be done twice, and what will not pass, is not repeated', async () => {
  const calls: [Answer, (atelier: Atelier) => Promise<unknown>, string][] = [
    [drop, (atelier) => atelier.runs.cancel('r'), 'ConnectionError'],
    [drop, (atelier) => atelier.runs.update('r', { tags: [] }), 'ConnectionError'],
    [failure(500, 'internal_error'), (atelier) => atelier.runs.get('r'), 'AtelierError'],
    [failure(500, 'ai_provider_error'), (atelier) => atelier.studio.images.generate({ prompt: 'x' }), 'ProviderError'],
    [failure(402, 'insufficient_credits'), (atelier) => atelier.runs.get('r'), 'InsufficientCreditsError'],
    [failure(403, 'forbidden'), (atelier) => atelier.runs.get('r'), 'PermissionError'],
    [failure(405, 'method_not_allowed'), (atelier) => atelier.runs.get('r'), 'ConflictError'],
    [failure(409, 'conflict'), (atelier) => atelier.runs.delete('r'), 'ConflictError'],
    [failure(413, 'payload_too_large'), (atelier) => atelier.workflows.create({ name: 'x' }), 'ValidationError'],
    [failure(422, 'idempotency_key_reused'), (atelier) => atelier.workflows.create({ name: 'x' }), 'ValidationError'],
    [
      failure(429, 'rate_limit_exceeded', { 'retry-after': '61' }),
      (atelier) => atelier.runs.get('r'),
      'RateLimitError',
    ],
  ];
  for (const [fault, call, name] of calls) {
    const { atelier, seen } = await clientOf([fault, ok()]);
    expect(await rejection(call(atelier))).toMatchObject({ name });
    expect(seen).toHaveLength(1);
  }
  const limited = await clientOf([failure(429, 'rate_limit_exceeded', { 'retry-after': '61' })]);
  expect(await rejection(limited.atelier.runs.get('r'))).toMatchObject({
    retryAfter: 61,
    requestId: 'r1',
    status: 429,
  });
  // A stream is read once. What the caller made of it is another matter.
  const upload = await clientOf([failure(503, 'service_unavailable', soon), ok({ text: 'Hi' })]);
  const bytes = new Uint8Array(70_000).fill(7);
  const audio = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  expect(await rejection(upload.atelier.voice.transcribe({ audio, language: 'en' }))).toMatchObject({ status: 503 });
  expect(upload.seen).toHaveLength(1);
  expect(upload.seen[0]!.body.length).toBeGreaterThan(bytes.length);
  await upload.atelier.voice.transcribe({ audio: bytes });
});

test('a caller decides how often, with which key, and until when', async () => {
  const { atelier, seen } = await clientOf([failure(503, 'service_unavailable', soon)]);
  await rejection(atelier.workflows.create({ name: 'x' }, { maxRetries: 3, idempotencyKey: 'mine' }));
  expect(seen.map(({ key }) => key)).toEqual(['mine', 'mine', 'mine', 'mine']);
  await rejection(atelier.withOptions({ maxRetries: 0 }).runs.get('r'));
  expect(seen).toHaveLength(5);
  const stop = new AbortController();
  const waiting = await clientOf([failure(503, 'service_unavailable', { 'retry-after': '30' })]);
  const call = rejection(waiting.atelier.runs.get('r', { signal: stop.signal }));
  await until('the first attempt has failed', async () => waiting.seen.length === 1);
  stop.abort(new Error('Enough.'));
  expect((await call).message).toBe('Enough.');
});

const event = (id: number, name: string) => `id: ${id}\nevent: ${name}\ndata: {"runId": "r", "at": "now"}\n\n`;
/** A stream that sends these pieces, and then ends, is cut or stays silent. */
const streamOf =
  (pieces: string[], then: 'end' | 'cut' | 'silence' = 'end'): Answer =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('retry: 5\n\n');
    for (const piece of pieces) {
      response.write(piece);
      await sleep(2);
    }
    if (then === 'end') response.end();
    if (then === 'cut') response.destroy();
  };

test('a stream goes on after what drops, stalls, repeats and garbles it, and no event comes twice', async () => {
  const answers = [
    streamOf([event(1, 'run.started'), 'id: 2\nevent: step.sta'], 'cut'),
    drop,
    // In pieces, with what came before once more.
    streamOf([event(1, 'run.started'), ': ping\n\n', 'id: 2\neve', 'nt: step.started\ndata: {"runId":', ' "r"}\n\n']),
    streamOf(['event: step.delta\ndata: {"text": "Hi"}\n\n', event(3, 'step.completed')], 'silence'),
    streamOf(['id: 4\nevent: step.started\ndata: {"runId\n\n', event(4, 'step.started')]),
    failure(503, 'service_unavailable', soon),
    streamOf([event(4, 'step.started'), event(5, 'run.completed'), event(6, 'run.started')]),
  ];
  const readAll = async () => {
    const { atelier, seen } = await clientOf(answers, { timeoutMs: 2_000, maxRetries: 3 });
    const names: string[] = [];
    const began = performance.now();
    for await (const { id, event: name } of atelier.runs.events('r')) names.push(`${id} ${name}`);
    // One is silent. Where it took as long as two, another one may have stalled on a busy machine.
    const isSlow = performance.now() - began >= 4_000;
    return !(isSlow && seen.length > answers.length) && { names, seen };
  };
  const { names, seen } = await until('one alone stalls', () => readAll().catch(unlessTimeout));
  const own = ['1 run.started', '2 step.started', 'null step.delta', '3 step.completed', '4 step.started'];
  expect(names).toEqual([...own, '5 run.completed']);
  expect(seen.map(({ lastEventId }) => lastEventId)).toEqual([undefined, '1', '1', '2', '3', '3', '3']);
});

test('a stream ends with 204, with a refusal, and after failures without an event between them', async () => {
  const ended = await clientOf([streamOf([event(1, 'run.started')]), (response) => response.writeHead(204).end()]);
  const names: string[] = [];
  for await (const { event: name } of ended.atelier.runs.events('r')) names.push(name);
  expect(names).toEqual(['run.started']);
  const read = async ({ atelier }: { atelier: Atelier }) => {
    for await (const _ of atelier.runs.events('r'));
  };
  const refused = await clientOf([failure(404, 'run_not_found')]);
  expect(await rejection(read(refused))).toMatchObject({ name: 'NotFoundError', code: 'run_not_found' });
  expect(refused.seen).toHaveLength(1);
  const failing = await clientOf([streamOf([event(1, 'run.started')]), streamOf([])], { maxRetries: 2 });
  expect(await rejection(read(failing))).toMatchObject({ name: 'ConnectionError' });
  expect(failing.seen).toHaveLength(3);
  // A reader that leaves closes the connection.
  const left = await clientOf([streamOf([event(1, 'run.started')], 'silence')]);
  for await (const _ of left.atelier.runs.events('r')) break;
  await until('the connection is closed', async () => left.server.open === 0);
});

test('a wait reads the run where its events cannot be had', async () => {
  const statuses = ['RUNNING', 'RUNNING', 'FAILED'];
  const { atelier, seen } = await clientOf([
    (response, request) => {
      if (request.url!.endsWith('/events'))
        return failure(429, 'rate_limit_exceeded', { 'retry-after': '100' })(response, request);
      return ok({ id: 'r', status: statuses.shift() })(response, request);
    },
  ]);
  await expect(atelier.runs.wait('r')).resolves.toEqual({ id: 'r', status: 'FAILED' });
  expect(seen.map(({ line }) => line.split('/').at(-1))).toEqual(['events', 'r', 'r', 'r']);
  const skipped = await clientOf([ok({ runId: null, status: 'SKIPPED', reason: 'concurrency' })]);
  await expect(skipped.atelier.workflows.run('w', { input: 1 })).resolves.toBeNull();
});

test('a wait reads the run where its events are held back, and its time is that of its requests too', async () => {
  const { atelier } = await clientOf(
    [
      (response, request) => {
        // A proxy that has the whole answer before it passes any of it on.
        if (!request.url!.endsWith('/events')) return ok()(response, request);
      },
    ],
    { timeoutMs: 500, maxRetries: 0 },
  );
  // On a busy machine that time may be over before the run is answered.
  const waited = await until('the run is read in time', () => atelier.runs.wait('r').catch(unlessTimeout));
  expect(waited).toEqual(run);
  const stalled = await clientOf([stall]);
  const began = Date.now();
  const tooLate = rejection(stalled.atelier.workflows.run('w', { input: 1 }, { timeoutMs: 500 }));
  expect(await tooLate).toMatchObject({ name: 'TimeoutError', message: 'It did not end within 500 ms.' });
  expect(Date.now() - began).toBeLessThan(30_000);
});

test('what cannot be sent is the error of its caller, and an attempt may take months', async () => {
  const { atelier, seen } = await clientOf([ok()]);
  const config: Record<string, unknown> = {};
  config.itself = config;
  expect(await rejection(atelier.workflows.create({ name: 'x', config }))).toBeInstanceOf(TypeError);
  expect(await rejection(atelier.runs.get('r', { headers: { 'X-Name': 'a\nb' } }))).toBeInstanceOf(TypeError);
  expect(seen).toHaveLength(0);
  await expect(atelier.runs.get('r', { timeoutMs: Number.POSITIVE_INFINITY })).resolves.toEqual(run);
});

test('a page says whether there are more items than were counted', async () => {
  const pagination = { total: 10_000, limit: 1, offset: 0, hasMore: true, nextCursor: 'c', totalIsExact: false };
  const { atelier } = await clientOf([ok({ runs: [run], pagination }), ok({ runs: [run], pagination: { total: 1 } })]);
  await expect(atelier.runs.list().page()).resolves.toMatchObject({
    total: 10_000,
    totalIsExact: false,
    hasMore: true,
  });
  await expect(atelier.runs.list().page()).resolves.toMatchObject({ total: 1, totalIsExact: true, hasMore: false });
});

test('a wait of months ends with its run, and one whose callback throws closes its connection', async () => {
  const finished = [streamOf([event(1, 'run.started'), event(2, 'run.completed')]), ok()];
  const monthsMs = 90 * 86_400_000;
  const { atelier } = await clientOf(finished);
  await expect(atelier.runs.wait('r', { timeoutMs: monthsMs })).resolves.toEqual(run);
  const left = await clientOf([streamOf([event(1, 'run.started')], 'silence')]);
  const failing = left.atelier.runs.wait('r', {
    onEvent: () => {
      throw new Error('Mine.');
    },
  });
  expect((await rejection(failing)).message).toBe('Mine.');
  await until('the connection is closed', async () => left.server.open === 0);
});

test('after its signal a stream has no further events, and its reader may take longer than the stream may be silent', async () => {
  const together = [event(1, 'run.started') + event(2, 'step.started') + event(3, 'step.completed')];
  const { atelier } = await clientOf([streamOf(together, 'silence')]);
  const stop = new AbortController();
  const names: string[] = [];
  const reading = (async () => {
    for await (const { event: name } of atelier.runs.events('r', undefined, { signal: stop.signal })) {
      names.push(name);
      stop.abort(new Error('Enough.'));
    }
  })();
  expect((await rejection(reading)).message).toBe('Enough.');
  expect(names).toEqual(['run.started']);
  const readSlowly = async () => {
    let isAtWork = false;
    const slow = await clientOf(
      [
        async (response) => {
          streamOf([event(1, 'run.started')], 'silence')(response, response.req);
          await until('the reader is at work', async () => isAtWork);
          response.write(event(2, 'run.completed'));
        },
      ],
      { timeoutMs: 1_000, maxRetries: 0 },
    );
    const read: string[] = [];
    try {
      for await (const { event: name } of slow.atelier.runs.events('r')) {
        read.push(name);
        if (isAtWork) break;
        isAtWork = true;
        await sleep(1_500);
      }
    } finally {
      isAtWork = true;
    }
    return { read, seen: slow.seen };
  };
  // On a busy machine the server may be as late as the stream may be silent.
  const slow = await until('the stream is read', () => readSlowly().catch(unlessTimeout));
  expect(slow.read).toEqual(['run.started', 'run.completed']);
  expect(slow.seen).toHaveLength(1);
});

const delta = (text: string) => `event: delta\ndata: {"text": "${text}"}\n\n`;
const reply = 'event: reply\ndata: {"content": "Hello world", "model": "m", "creditsUsed": 1}\n\n';

test('a reply goes on with the same key, and its text comes once', async () => {
  const { atelier, seen } = await clientOf([
    streamOf([delta('Hel'), delta('lo w')], 'cut'),
    json(409, { success: false, error: 'The request with this Idempotency-Key is still in progress.' }, soon),
    streamOf([delta('Hello world'), reply]),
  ]);
  const stream = atelier.chat.stream({ messages: [{ role: 'user', content: 'Hi' }] });
  const texts: string[] = [];
  for await (const { event: name, data } of stream) if (name === 'delta') texts.push(data.text);
  expect(texts).toEqual(['Hel', 'lo w', 'orld']);
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
  const whole = await clientOf([streamOf([delta('Hello world'), reply])]);
  await expect(whole.atelier.agents.stream({ message: 'Hi', systemPrompt: 'x' }).text()).resolves.toBe('Hello world');
  const failed = await clientOf([
    streamOf([delta('Hel'), 'event: error\ndata: {"success": false, "error": "Too bad."}\n\n']),
  ]);
  expect(await rejection(failed.atelier.chat.stream({ messages: [] }).reply())).toMatchObject({
    name: 'ProviderError',
    message: 'Too bad.',
  });
});
