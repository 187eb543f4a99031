import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { setImmediate as nextLoopRound } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { generate } from 'selfsigned';
import { httpServer, type LoopbackServer, serve, tcpServer } from '../../../test/loopback-server.ts';
import { until } from '../../../test/until.ts';
import { Egress, type EgressOptions, type EgressRequest } from './egress.ts';
import { dnsResolve } from './egress-connector.ts';
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
const strict = egressRules({ NODE_ENV: 'test' });
const openEgress = (options: EgressOptions = {}, by = rules) => kept(new Egress(by, options));
const toName = (...addresses: string[]): EgressOptions => ({ resolve: async () => addresses });

const get = (url: string, deadlineMs = 20_000): EgressRequest => ({
  url,
  method: 'GET',
  deadlineMs,
  maxResponseBytes: 100,
});
const outcome = (work: Promise<{ status: number }>): Promise<number | string> =>
  work.then(
    ({ status }) => status,
    (error) => {
      if (error instanceof EgressFailure) return error.errorClass;
      throw error;
    },
  );

describe('addresses', () => {
  let server: LoopbackServer;
  const open = async () => kept(await httpServer((_, response) => response.end('reached')));

  test.each([
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
    '0177.0.0.01',
    '2130706433',
    '①②⑦.0.0.1',
    '%31%32%37.1',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    'localhost',
    'localhost.',
    'LOCALHOST',
    'a.localhost',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[2002:7f00:1::]',
    'user@127.0.0.1',
    'user:password@localhost',
  ])('of this machine are not reached as %s', async (host) => {
    server = await open();
    const sent = openEgress({}, strict).request(get(`http://${host}:${server.port}/`));
    expect(await outcome(sent)).toBe('forbidden_destination');
    expect(server.connections).toBe(0);
  });

  test.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '0.0.0.0',
    '10.0.0.1',
    '169.254.169.254',
    'fd00:ec2::254',
    'fe80::1%lo',
    'bogus',
    '',
  ])('that a name resolves to are checked: %j', async (address) => {
    server = await open();
    const egress = openEgress(toName(address), strict);
    expect(await outcome(egress.request(get(`http://receiver.example:${server.port}/`)))).toBe('forbidden_destination');
    expect(server.connections).toBe(0);
  });

  test('condemn a name if one of them is forbidden, wherever it stands', async () => {
    server = await open();
    const url = `http://receiver.example:${server.port}/`;
    for (const addresses of [
      ['127.0.0.1', '10.0.0.1'],
      ['10.0.0.1', '127.0.0.1'],
      ['127.0.0.1', '::1'],
    ]) {
      expect(await outcome(openEgress(toName(...addresses)).request(get(url)))).toBe('forbidden_destination');
    }
    expect(server.connections).toBe(0);
    expect(await outcome(openEgress(toName('127.0.0.1')).request(get(url)))).toBe(200);
  });

  test('are those that were checked, even if the name has others a moment later', async () => {
    const inside = kept(await httpServer((_, response) => response.end('inside')));
    server = kept(await httpServer((_, response) => response.writeHead(200, { connection: 'close' }).end('outside')));
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1'], ['127.0.0.2']];
    let asked = 0;
    const egress = openEgress({ resolve: async () => answers[asked++]! });
    const url = `http://rebinding.example:${server.port}/`;
    const seen = [];
    for (let i = 0; i < answers.length; i++) {
      seen.push(await outcome(egress.request(get(url))));
      expect(asked).toBe(i + 1);
      await until('the connection is closed', async () => server.open === 0);
    }
    expect(seen).toEqual([200, 'forbidden_destination', 200, 'forbidden_destination']);
    expect(inside.connections).toBe(0);
  });

  test('are all checked, and the first eight are tried', async () => {
    server = await open();
    const loopback = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.0/8'] });
    const url = `http://receiver.example:${server.port}/`;
    // Nothing listens there.
    const closed = Array.from({ length: 3_000 }, (_, at) => `127.1.${at >> 8}.${at & 255}`);
    const reach = (...addresses: string[]) => outcome(openEgress(toName(...addresses), loopback).request(get(url)));
    expect(await reach(...closed.slice(0, 7), '127.0.0.1')).toBe(200);
    expect(await reach(...closed.slice(0, 8), '127.0.0.1')).toBe('connect');
    expect(await reach('127.0.0.1', ...closed)).toBe(200);
    expect(await reach('127.0.0.1', ...closed, '10.0.0.1')).toBe('forbidden_destination');
  });

  test('are tried one after the other', async () => {
    server = await open();
    const both = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.0/8', '::1/128'] });
    const egress = openEgress(toName('127.0.0.9', '::1', '127.0.0.1'), both);
    expect(await outcome(egress.request(get(`http://receiver.example:${server.port}/`)))).toBe(200);
    expect(await outcome(openEgress({}, both).request(get(`http://localhost:${server.port}/`)))).toBe(200);
  });
});

describe('a connection', () => {
  test('that is refused differs from a name without addresses', async () => {
    const server = await httpServer(() => {});
    await server.close();
    expect(await outcome(openEgress().request(get(`http://127.0.0.1:${server.port}/`)))).toBe('connect');
    const nameless = openEgress({ resolve: () => Promise.reject(new Error('ENOTFOUND')) });
    expect(await outcome(nameless.request(get('http://receiver.example/')))).toBe('dns');
  });

  test('that does not come about in time is given up', async () => {
    const silent = kept(await tcpServer((socket) => socket.resume()));
    const secure = `https://127.0.0.1:${silent.port}/`;
    expect(await outcome(openEgress().request(get(secure, 300)))).toBe('timeout');
    expect(await outcome(openEgress({ connectTimeoutMs: 300 }).request(get(secure)))).toBe('timeout');
    await until('the second is dropped', async () => silent.open <= 1);
    const never = openEgress({ resolve: () => new Promise(() => {}) });
    expect(await outcome(never.request(get('http://receiver.example/', 300)))).toBe('timeout');
  });

  test('is not waited for beyond the deadline, and what waited for it is never sent', async () => {
    const paths: string[] = [];
    const server = kept(
      await httpServer((request, response) => {
        paths.push(request.url!);
        if (request.url !== '/first') response.end();
      }),
    );
    const egress = openEgress({ connectionsPerOrigin: 1 });
    const url = `http://127.0.0.1:${server.port}`;
    const holding = new AbortController();
    const first = egress.request({ ...get(`${url}/first`), signal: holding.signal });
    await until('the first arrives', async () => paths.length === 1);
    expect(await outcome(egress.request(get(`${url}/second`, 100)))).toBe('timeout');
    holding.abort('enough');
    await expect(first).rejects.toBe('enough');
    expect(await outcome(egress.request(get(`${url}/third`)))).toBe(200);
    expect(paths).toEqual(['/first', '/third']);
  });
});

describe('TLS', () => {
  const trusted = getCACertificates('default');
  let own: { private: string; cert: string };
  const names: unknown[] = [];
  beforeAll(async () => {
    const altNames = [{ type: 2 as const, value: 'receiver.example' }];
    own = await generate([{ name: 'commonName', value: 'receiver.example' }], {
      keyType: 'ec',
      extensions: [
        { name: 'basicConstraints', cA: true },
        { name: 'subjectAltName', altNames },
      ],
    });
  });
  afterAll(() => setDefaultCACertificates(trusted));

  const open = async () => {
    const https = createHttpsServer({ key: own.private, cert: own.cert }, (request, response) =>
      response.end(request.headers.host),
    );
    https.on('secureConnection', (socket) => names.push(socket.servername));
    return kept(await serve(https));
  };

  test('asks for the name in the URL at the address that was checked', async () => {
    setDefaultCACertificates([own.cert]);
    const server = await open();
    const egress = openEgress(toName('127.0.0.1'));
    for (const host of ['receiver.example', 'RECEIVER.example', 'receiver.example.']) {
      expect(await outcome(egress.request(get(`https://${host}:${server.port}/`)))).toBe(200);
    }
    expect(new Set(names)).toEqual(new Set(['receiver.example']));
    expect(server.connections).toBeLessThanOrEqual(3);
  });

  test('fails with what is wrong with the certificate', async () => {
    const server = await open();
    const egress = openEgress(toName('127.0.0.1'));
    setDefaultCACertificates([own.cert]);
    await expect(egress.request(get(`https://other.example:${server.port}/`))).rejects.toMatchObject({
      errorClass: 'tls',
      message: 'A secure connection could not be established (ERR_TLS_CERT_ALTNAME_INVALID).',
    });
    setDefaultCACertificates(trusted);
    await expect(openEgress().request(get(`https://127.0.0.1:${server.port}/`))).rejects.toMatchObject({
      errorClass: 'tls',
      message: 'A secure connection could not be established (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
    const plain = kept(await httpServer((_, response) => response.end()));
    expect(await outcome(openEgress().request(get(`https://127.0.0.1:${plain.port}/`)))).toBe('tls');
    const abrupt = kept(await tcpServer((socket) => socket.once('data', () => socket.destroy())));
    expect(await outcome(openEgress().request(get(`https://127.0.0.1:${abrupt.port}/`)))).toBe('tls');
  });
});

describe('the DNS', () => {
  /** Speaks just enough of RFC 1035: one answer of the type that was asked for, or none. */
  async function nameServer(answerTo: (name: string, type: number) => number[] | undefined | 'silence') {
    const socket = createSocket('udp4');
    socket.on('message', (query, from) => {
      const labels: string[] = [];
      let at = 12;
      for (; query[at] !== 0; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
      const type = query.readUInt16BE(at + 1);
      const data = answerTo(labels.join('.'), type);
      if (data === 'silence') return;
      const head = Buffer.from([...query.subarray(0, 2), 0x81, data ? 0x80 : 0x83, 0, 1, 0, data ? 1 : 0, 0, 0, 0, 0]);
      const record = data ? [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length, ...data] : [];
      socket.send(Buffer.concat([head, query.subarray(12, at + 5), Buffer.from(record)]), from.port, from.address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    kept({ close: async () => void socket.close() });
    return dnsResolve([`127.0.0.1:${socket.address().port}`]);
  }
  const ipv4 = 1;

  test('is asked for both kinds of addresses, and one kind is enough', async () => {
    const ipv6 = [0x26, 6, 0x47, 0, ...Array(11).fill(0), 1];
    const resolve = await nameServer((name, type) => {
      if (name === 'both.example') return type === ipv4 ? [93, 184, 215, 14] : ipv6;
      return type === ipv4 && name === 'four.example' ? [93, 184, 215, 14] : undefined;
    });
    const { signal } = new AbortController();
    expect(await resolve('both.example', signal)).toEqual(['93.184.215.14', '2606:4700::1']);
    expect(await resolve('four.example', signal)).toEqual(['93.184.215.14']);
    await expect(resolve('none.example', signal)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  test('that does not answer is not waited for', async () => {
    const resolve = await nameServer(() => 'silence');
    const egress = openEgress({ resolve, connectTimeoutMs: 300 });
    expect(await outcome(egress.request(get('http://receiver.example/')))).toBe('dns');
  });

  test('that answers when the time is over ends no process, where the address cannot be reached', async () => {
    // No address of a host: to connect to it fails at once.
    const everyHost = '255.255.255.255';
    const egress = openEgress(
      {
        async resolve(_, signal) {
          await once(signal, 'abort');
          return [everyHost];
        },
        connectTimeoutMs: 20,
      },
      egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: [`${everyHost}/32`] }),
    );
    expect(await outcome(egress.request(get('http://receiver.example/')))).toBe('timeout');
    // By then an error without a listener would have been thrown.
    await nextLoopRound();
  });

  test('that names an address of the inside leads nowhere', async () => {
    const resolve = await nameServer((_, type) => (type === ipv4 ? [127, 0, 0, 1] : undefined));
    const server = kept(await httpServer((_, response) => response.end()));
    const egress = openEgress({ resolve }, strict);
    const url = `http://receiver.example:${server.port}/`;
    expect(await outcome(egress.request(get(url)))).toBe('forbidden_destination');
    expect(await outcome(openEgress({ resolve }).request(get(url)))).toBe(200);
    expect(server.connections).toBe(1);
  });
});
