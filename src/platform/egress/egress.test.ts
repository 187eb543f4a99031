import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { httpServer, type LoopbackServer, tcpServer } from '../../../test/loopback-server.ts';
import { until } from '../../../test/until.ts';
import { Egress, type EgressOptions, type EgressRequest } from './egress.ts';
import { egressRules } from './egress-destination.ts';
import { EgressFailure } from './egress-failure.ts';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});
const kept = <T extends { close(): Promise<void> }>(one: T): T => {
  closing.push(one);
  return one;
};

/** 127.0.0.1 stands for the public; the rest of loopback is as closed as it is to the product. */
const rules = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1/32'] });
const openEgress = (options: EgressOptions = {}) => kept(new Egress(rules, options));
const web = async (...args: Parameters<typeof httpServer>) => kept(await httpServer(...args));
const raw = async (...args: Parameters<typeof tcpServer>) => kept(await tcpServer(...args));

const get = (url: string, more: Partial<EgressRequest> = {}): EgressRequest => ({
  url,
  method: 'GET',
  deadlineMs: 20_000,
  maxResponseBytes: 1_000,
  ...more,
});
const at = ({ port }: LoopbackServer, path = '/', host = '127.0.0.1') => `http://${host}:${port}${path}`;

async function failureOf(work: Promise<unknown>): Promise<EgressFailure> {
  const failure = await work.then(
    () => new Error('It succeeded.'),
    (error) => error,
  );
  if (failure instanceof EgressFailure) return failure;
  throw failure;
}

describe('a request', () => {
  test('arrives as it was asked for, under the name in the URL', async () => {
    const server = await web((request, response) => {
      request.setEncoding('utf8').on('data', (body) => {
        const { method, url, rawHeaders } = request;
        response.writeHead(202, { 'X-Answer': 'yes' }).end(JSON.stringify({ method, url, rawHeaders, body }));
      });
    });
    const egress = openEgress({ resolve: async () => ['127.0.0.1'] });
    const answer = await egress.request(
      get(at(server, '/hook?a=b', 'receiver.example'), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Service-Event': 'test.webhook' },
        body: '{"a":1}',
      }),
    );
    expect(answer).toMatchObject({ status: 202, truncated: false });
    expect(answer.headers['x-answer']).toBe('yes');
    expect(answer.durationMs).toBeGreaterThanOrEqual(0);
    const got = JSON.parse(answer.body.toString());
    expect(got).toMatchObject({ method: 'POST', url: '/hook?a=b', body: '{"a":1}' });
    const headers = Object.fromEntries(
      got.rawHeaders.flatMap((name: string, i: number, all: string[]) => (i % 2 ? [] : [[name, all[i + 1]]])),
    );
    expect(headers).toEqual({
      host: `receiver.example:${server.port}`,
      connection: 'keep-alive',
      'Content-Type': 'application/json',
      'X-Service-Event': 'test.webhook',
      'user-agent': 'Atelier',
      'accept-encoding': 'identity',
      'content-length': '7',
    });
  });

  test('uses connections again, and resolves a name once for each', async () => {
    const server = await web((_, response) => response.end('ok'));
    let asked = 0;
    const egress = openEgress({
      resolve: async () => {
        asked++;
        return ['127.0.0.1'];
      },
    });
    for (let i = 0; i < 10; i++) await egress.request(get(at(server, '/', 'receiver.example')));
    // A connection that was just used rests for one iteration of the event loop, so there are two.
    expect(server.connections).toBeLessThanOrEqual(2);
    expect(asked).toBe(server.connections);
  });

  test('opens no more connections to one origin than it may, and serves everyone', async () => {
    let max = 0;
    const server = await web((_, response) => {
      max = Math.max(max, server.open);
      setImmediate(() => response.end('ok'));
    });
    const egress = openEgress({ connectionsPerOrigin: 3 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => egress.request(get(at(server)))));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(max).toBeLessThanOrEqual(3);
  });

  test('is not kept waiting by others that hang at the same origin', async () => {
    const server = await web(({ url }, response) => void (url === '/fast' && response.end()));
    const egress = openEgress();
    const hang = () => egress.request(get(at(server), { deadlineMs: 100_000 })).catch((error) => error);
    const hanging = Array.from({ length: 100 }, hang);
    // Long before the others are over.
    expect((await egress.request(get(at(server, '/fast'), { deadlineMs: 30_000 }))).status).toBe(200);
    await egress.close();
    for (const end of await Promise.all(hanging)) expect(end).toBeInstanceOf(EgressFailure);
  });

  test('leaves nothing of its host when it is aborted, for callers can name hosts without end', async () => {
    const silent = await raw(() => {});
    const long = await web((_, response) => response.end('x'.repeat(100_000)));
    const egress = openEgress({ resolve: async () => ['127.0.0.1'] });
    const late = egress.request(get(at(silent, '/', 'silent.example'), { deadlineMs: 50 }));
    expect((await failureOf(late)).errorClass).toBe('timeout');
    expect((await egress.request(get(at(long, '/', 'long.example')))).truncated).toBe(true);
    await until('the hosts are forgotten', async () => (await egress.countOrigins()) === 0);
  });

  test('follows no redirect', async () => {
    const paths: string[] = [];
    const server = await web((request, response) => {
      paths.push(request.url!);
      response.writeHead(Number(request.url!.slice(1)), { location: at(server, '/second') }).end();
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const answer = await openEgress().request(get(at(server, `/${status}`), { method: 'POST', body: 'x' }));
      expect(answer.status).toBe(status);
    }
    expect(paths).toEqual(['/301', '/302', '/303', '/307', '/308']);
  });

  test('ends with the reason of its signal, before and while it runs', async () => {
    const server = await web(() => {});
    const egress = openEgress();
    await expect(egress.request(get(at(server), { signal: AbortSignal.abort('early') }))).rejects.toBe('early');
    expect(server.connections).toBe(0);
    const controller = new AbortController();
    const sent = egress.request(get(at(server), { signal: controller.signal }));
    await until('the request arrives', async () => server.connections > 0);
    controller.abort('late');
    await expect(sent).rejects.toBe('late');
    await until('the connection is dropped', async () => server.open === 0);
  });

  test('is not sent with headers that are not the caller’s to choose', async () => {
    const server = await web((_, response) => response.end());
    for (const headers of [{ Host: 'internal' }, { 'X-A': 'a\r\nX-B: b' }, { 'Transfer-Encoding': 'chunked' }]) {
      const failure = await failureOf(openEgress().request(get(at(server), { headers: headers as never })));
      expect(failure.errorClass).toBe('invalid_request');
    }
    expect(server.connections).toBe(0);
  });

  test('leaves what fetch does as it was', async () => {
    const server = await web((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('unpacked')),
    );
    await openEgress().request(get(at(server)));
    expect(await (await fetch(at(server))).text()).toBe('unpacked');
  });

  test('asks no proxy, whatever the environment names', async () => {
    const server = await web((_, response) => response.end('direct'));
    const proxy = await web((_, response) => response.end('proxied'));
    const program = `
      const { Egress } = await import(${JSON.stringify(new URL('./egress.ts', import.meta.url).href)});
      const { egressRules } = await import(${JSON.stringify(new URL('./egress-destination.ts', import.meta.url).href)});
      const egress = new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1'] }));
      const request = { url: '${at(server)}', method: 'GET', deadlineMs: 20_000, maxResponseBytes: 100 };
      console.log((await egress.request(request)).body.toString());
      await egress.close();`;
    const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: at(proxy), http_proxy: at(proxy), ALL_PROXY: at(proxy) };
    const run = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    expect(run.stdout.trim()).toBe('direct');
    expect(proxy.connections).toBe(0);
  });
});

describe('an answer', () => {
  const endless = async () =>
    web((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 'a')));
      };
      response.writeHead(200).on('drain', more);
      more();
    });

  test('is kept up to its limit, and the connection dropped', async () => {
    const server = await endless();
    const egress = openEgress();
    const answer = await egress.request(get(at(server), { maxResponseBytes: 16_384 }));
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body.toString()).toBe('a'.repeat(16_384));
    await until('the connection is dropped', async () => server.open === 0);
    expect((await egress.request(get(at(server), { maxResponseBytes: 0 }))).body).toHaveLength(0);
  });

  test('that comes in pieces of one byte is read no further than the first thousands', async () => {
    const server = await raw((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.end(`${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`);
    });
    const answer = await openEgress().request(get(at(server), { maxResponseBytes: 1_000_000 }));
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body.length).toBeLessThan(3_000);
  });

  test('of exactly the limit is whole', async () => {
    const server = await web((_, response) => response.end('a'.repeat(1_000)));
    const egress = openEgress();
    expect((await egress.request(get(at(server)))).truncated).toBe(false);
    expect((await egress.request(get(at(server), { maxResponseBytes: 999 }))).truncated).toBe(true);
  });

  test('is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const server = await web((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const answer = await openEgress().request(get(at(server), { maxResponseBytes: 20_000 }));
    expect(answer.body.equals(bomb)).toBe(true);
    expect(answer.headers['content-encoding']).toBe('gzip');
  });

  test('that says a thing twice is read as one text', async () => {
    const server = await web((_, response) => response.writeHead(200, ['Retry-After', '1', 'retry-after', '2']).end());
    expect((await openEgress().request(get(at(server)))).headers['retry-after']).toBe('1, 2');
  });

  test('that drips is cut by the deadline, and its status is returned', async () => {
    const server = await web((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(drip));
    });
    // On a busy machine its time may be over before it begins.
    const failure = await until('it begins', async () => {
      const found = await failureOf(openEgress().request(get(at(server), { deadlineMs: 2_000 })));
      return found.status !== undefined && found;
    });
    expect(failure).toMatchObject({ errorClass: 'timeout', status: 200 });
    expect(failure.durationMs).toBeGreaterThanOrEqual(1_990);
    await until('the connection is dropped', async () => server.open === 0);
  });

  test('that never begins is cut by the deadline, early hints or not', async () => {
    const silent = await raw((socket) => socket.resume());
    const hinting = await raw((socket) => {
      const hint = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 20);
      socket.resume().on('close', () => clearInterval(hint));
    });
    for (const server of [silent, hinting]) {
      const failure = await failureOf(openEgress().request(get(at(server), { deadlineMs: 500 })));
      expect(failure).toMatchObject({ errorClass: 'timeout', status: undefined });
    }
  });

  test('with headers beyond 16 KiB is too large, however they come', async () => {
    const large = await web((_, response) => response.writeHead(200, { 'x-large': 'a'.repeat(64 * 1024) }).end());
    const endlessly = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(`x-${'a'.repeat(100)}: b\r\n`));
      };
      socket.resume().on('drain', more);
      more();
    });
    for (const server of [large, endlessly]) {
      const failure = await failureOf(openEgress().request(get(at(server))));
      expect(failure.errorClass).toBe('response_too_large');
    }
  });

  const half = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc';
  test.each([
    ['that is not HTTP', 'SSH-2.0-OpenSSH\r\n', 'malformed_response'],
    ['with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'malformed_response'],
    ['with a broken chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 'malformed_response'],
    [
      'that changes the protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'reset',
    ],
    ['that changes the protocol to none', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'malformed_response'],
    ['with a status that there cannot be', 'HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n', 'malformed_response'],
    ['that never comes', '', 'reset'],
    ['that stops halfway', half, 'reset'],
  ])('%s', async (_, text, errorClass) => {
    const server = await raw((socket) => socket.once('data', () => socket.end(text)));
    const failure = await failureOf(openEgress().request(get(at(server))));
    expect(failure).toMatchObject({ errorClass, status: text === half || /chunk/.test(text) ? 200 : undefined });
  });

  test('of any bytes at all ends as an answer or as a failure that is known', async () => {
    const whole = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-a: b\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    let bytes = Buffer.alloc(0);
    const server = await raw((socket) => socket.once('data', () => socket.end(bytes)));
    const egress = openEgress();
    const change = fc.record({ at: fc.nat(whole.length - 1), cut: fc.nat(8), bytes: fc.uint8Array({ maxLength: 8 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        bytes = Buffer.from(whole);
        for (const { at: from, cut, bytes: put } of changes) {
          bytes = Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + cut)]);
        }
        const end = await egress.request(get(at(server))).catch((error) => error);
        expect(end instanceof EgressFailure ? 200 : end.status).toBeGreaterThanOrEqual(200);
      }),
      { numRuns: 30 },
    );
  });
});
