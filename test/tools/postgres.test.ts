import { connect, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Egress } from '../../src/platform/egress/egress.ts';
import { egressRules } from '../../src/platform/egress/egress-destination.ts';
import { applyChange } from '../../src/tools/check-configuration.ts';
import { PostgresConnection } from '../../src/tools/own/postgres.ts';
import { postgresAddress } from '../../src/tools/own/postgres-address.ts';
import { postgres as description } from '../../src/tools/servers/own-clients.ts';
import { type LoopbackServer, serve, tcpServer } from '../loopback-server.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';
import { certificate, certificateKey } from './certificate.ts';

let target: TestDatabase;
let secure: LoopbackServer;
const sockets = new Set<Socket>();

/** A server that grants the request for TLS. */
async function tlsServer(answer: (tls: TLSSocket, plain: Socket) => void): Promise<LoopbackServer> {
  const secureContext = createSecureContext({ cert: certificate, key: certificateKey });
  return serve(
    createServer((plain) => {
      plain.once('data', () => {
        plain.write('S');
        answer(new TLSSocket(plain, { isServer: true, secureContext }), plain);
      });
    }),
  );
}

/** PostgreSQL behind TLS. */
const tlsBefore = (url: URL): Promise<LoopbackServer> =>
  tlsServer((tls, plain) => {
    const inner = connect(Number(url.port), url.hostname);
    for (const one of [plain, tls, inner]) {
      sockets.add(one);
      one.on('error', () => inner.destroy());
    }
    tls.pipe(inner);
    inner.pipe(tls);
  });

/** A message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A server that is not PostgreSQL. @param answers to what the client sends first, and then; each in pieces */
const falseServer = (answers: Buffer[][]): Promise<LoopbackServer> =>
  tlsServer((tls) => {
    tls.on('error', () => {});
    tls.on('data', () => {
      for (const piece of answers.shift() ?? []) tls.write(piece);
    });
  });

/** To the second query it answers with 200 rows of one column with a long name. */
function wideAnswers(): Buffer[][] {
  const ready = message('Z', Buffer.from('I'));
  const done = message('C', Buffer.from('SELECT 1\0'));
  const name = Buffer.from(`${'n'.repeat(500_000)}\0`);
  const columns = message('T', Buffer.concat([Buffer.from([0, 1]), name, Buffer.alloc(18)]));
  const row = message('D', Buffer.from([0, 1, 0, 0, 0, 1, 0x31]));
  const rows = Buffer.concat([columns, ...Array.from({ length: 200 }, () => row), done, ready]);
  return [[message('R', Buffer.alloc(4)), ready], [done, ready], [rows]];
}

const inBytes = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));

const rules = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1/32'] });
const egress = new Egress(rules);
let dsn: URL;

beforeAll(async () => {
  target = await createTestDatabase();
  const url = new URL(target.ownerUrl);
  secure = await tlsBefore(url);
  dsn = new URL(target.ownerUrl);
  Object.assign(dsn, { hostname: '127.0.0.1', port: String(secure.port) });
  const { default: pg } = await import('pg');
  const owner = new pg.Client({ connectionString: target.ownerUrl });
  await owner.connect();
  await owner.query("create table customer (id int, name text); insert into customer values (1, 'Ada'), (2, 'Grace')");
  await owner.end();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await secure.close();
  await egress.close();
  await target.drop();
});

const open = (secrets: Record<string, string> = {}) =>
  new PostgresConnection({ dsn: dsn.href, ca: certificate, ...secrets }, egress);
const openAt = ({ port }: LoopbackServer) => open({ dsn: Object.assign(new URL(dsn), { port: String(port) }).href });
const query = (sql: string, connection = open()) => connection.call('query', { sql }, AbortSignal.timeout(30_000));
/** On a busy machine the database may let nobody in within five seconds: then it is asked again. */
const queryItself = (sql: string) =>
  until('the database lets us in', async () => {
    const result = await query(sql);
    return !/^The (database cannot be reached|connection to the database failed)/.test(result.text) && result;
  });

describe('a database of the organization', () => {
  test('is read, at most 200 rows of it', async () => {
    expect(JSON.parse((await queryItself('select * from customer order by id')).text)).toEqual({
      rows: [
        { id: 1, name: 'Ada' },
        { id: 2, name: 'Grace' },
      ],
      truncated: false,
    });
    const many = JSON.parse((await queryItself('select * from generate_series(1, 100000) as n')).text);
    expect([many.rows.length, many.truncated]).toEqual([200, true]);
    const types = "select 1 as i, 2::int8 as l, 1.5::float8 as f, 'NaN'::float4 as n, true as b, null as z";
    const [row] = JSON.parse((await queryItself(`${types}, '2026-05-01'::date as d, array[1, 2] as a`)).text).rows;
    expect(row).toEqual({ i: 1, l: '2', f: 1.5, n: null, b: true, z: null, d: '2026-05-01', a: '{1,2}' });
    const tables = await open().call('list_tables', {}, AbortSignal.timeout(30_000));
    expect(tables.text).toContain('customer');
    expect(await open().call('drop', {}, AbortSignal.timeout(1_000))).toMatchObject({ isError: true });
  });

  test.each([
    "insert into customer values (3, 'Eve')",
    'drop table customer',
    'select 1; drop table customer',
    'commit; drop table customer',
    'set transaction read write',
    "select set_config('transaction_read_only', 'off', false)",
    'do $$ begin commit; insert into customer values (3); end $$',
    'with added as (insert into customer values (3) returning 1) select * from added',
    'copy customer from stdin',
    'create temp table t as select 1 where pg_sleep(0) is null; select 1',
    "select nextval('nothing')",
  ])('is not changed by %s', async (sql) => {
    expect(await query(sql)).toMatchObject({ isError: true });
    expect(JSON.parse((await queryItself('select count(*)::int as n from customer')).text).rows).toEqual([{ n: 2 }]);
  });

  test('does not hold a call, and cannot fill the memory', async () => {
    // By PostgreSQL or, where its answer comes late on a busy machine, by the tool itself.
    expect(await queryItself('select pg_sleep(60)')).toMatchObject({
      text: expect.stringMatching(/statement timeout|The statement took longer than 5 s\./),
      isError: true,
    });
    expect(await queryItself("select repeat('x', 100000000)")).toEqual({
      text: 'The tool answered with more than 1 MiB. Ask for less.',
      isError: true,
    });
    const { text } = await queryItself(`select '{"a": [[], []]}'::json as read, '{"a": 1}'::jsonb as written`);
    expect(JSON.parse(text).rows).toEqual([{ read: '{"a": [[], []]}', written: '{"a": 1}' }]);
    const columns = (count: number) => queryItself(`select ${Array.from({ length: count }, (_, at) => `1 as c${at}`)}`);
    expect(await columns(200)).toMatchObject({ isError: false });
    const tooWide = "The answer has more than 200 columns, or a column's name is too long.";
    expect(await columns(201)).toEqual({ text: tooWide, isError: true });
    const other = await falseServer(wideAnswers());
    expect(await query('select 1', openAt(other))).toEqual({ text: tooWide, isError: true });
    await other.close();
    const aborting = new AbortController();
    const call = open().call('query', { sql: 'select pg_sleep(4)' }, aborting.signal);
    setTimeout(() => aborting.abort(new Error('enough')), 100);
    await expect(call).rejects.toThrow('enough');
  });

  test.each<[string, Buffer[]]>([
    ['an unknown kind of login', [message('R', Buffer.from([0, 0, 0, 7]))]],
    ['a row that is cut', [message('D', Buffer.from([0, 2, 0, 0, 0, 1, 0x31]))]],
    ['a row of less than no columns', [message('D', Buffer.from([0xff, 0xff]))]],
    ['a value that is longer than its message', [message('D', Buffer.from([0, 1, 0, 0, 0, 9, 0x31]))]],
    ['a value that ends before it begins', [message('D', Buffer.from([0, 1, 0xff, 0xff, 0xff, 0xfb]))]],
    ['an error without an end', [message('E', Buffer.from('SERROR\0'))]],
    ['a notice whose text has no end', inBytes(message('N', Buffer.from('SNOTICE')))],
    ['an error without anything', [message('E', Buffer.alloc(0))]],
    ['a message shorter than its length', [Buffer.from('E\0\0\0\0')]],
  ])('is given up when it answers with %s', async (_, pieces) => {
    const other = await falseServer([pieces]);
    const text = 'The database does not answer as PostgreSQL does.';
    expect(await query('select 1', openAt(other))).toEqual({ text, isError: true });
    await other.close();
  });

  test('is understood in whatever pieces its messages come', async () => {
    const other = await falseServer([inBytes(message('E', Buffer.from('SFATAL\0C28000\0MNot you.\0\0')))]);
    expect(await query('select 1', openAt(other))).toEqual({ text: 'Not you.', isError: true });
    await other.close();
  });

  test('gets the password of its connection string, and no other that this process knows', async () => {
    const sent: Buffer[] = [];
    const answers = [message('R', Buffer.from([0, 0, 0, 3])), message('E', Buffer.from('SFATAL\0MNot you.\0\0'))];
    const other = await tlsServer((tls) => {
      tls.on('error', () => {});
      tls.on('data', (data: Buffer) => {
        sent.push(data);
        tls.write(answers.shift() ?? '');
      });
    });
    const { default: pg } = await import('pg');
    Object.assign(pg.defaults, { password: 'of the operator' });
    try {
      const own = { dsn: `postgres://ada@127.0.0.1:${other.port}/things` };
      expect(await query('select 1', open(own))).toEqual({ text: 'Not you.', isError: true });
    } finally {
      Object.assign(pg.defaults, { password: null });
    }
    expect(sent.at(-1)).toEqual(message('p', Buffer.from('\0')));
    await other.close();
  });

  test('is reached with TLS and a certificate that can be trusted, or not at all', async () => {
    const { ca: _, ...untrusted } = { ca: '', dsn: dsn.href };
    const failed = { text: expect.stringMatching(/^The connection to the database failed/), isError: true };
    expect(
      await new PostgresConnection(untrusted, egress).call('query', { sql: 'select 1' }, AbortSignal.timeout(30_000)),
    ).toEqual(failed);
    const plain = await tcpServer((socket) => void socket.once('data', () => socket.write('N')));
    const elsewhere = new URL(dsn);
    elsewhere.port = String(plain.port);
    expect(await query('select 1', open({ dsn: elsewhere.href }))).toEqual(failed);
    await plain.close();
  });

  test('is at a public address, whatever its name resolves to', async () => {
    const rebinding = new Egress(rules, { resolve: async () => ['10.0.0.1'] });
    const elsewhere = 'postgres://a:b@database.example/c';
    const connection = new PostgresConnection({ dsn: elsewhere }, rebinding);
    expect(await query('select 1', connection)).toEqual({
      text: 'The database cannot be reached: Requests to this address are not allowed.',
      isError: true,
    });
  });
});

test.each([
  ['postgres://a:b@host.example/c', { host: 'host.example', port: 5432, user: 'a', password: 'b', database: 'c' }],
  ['postgresql://a%40x:b%2F@host.example:80/c', { port: 80, user: 'a@x', password: 'b/' }],
  ['postgres://a:b@[2606:4700::1111]:6543/c', { host: '2606:4700::1111', urlHost: '[2606:4700::1111]', port: 6543 }],
])('%s is an address', (text, expected) => {
  expect(postgresAddress(text)).toMatchObject(expected);
});

test.each([
  '',
  'host=x',
  'mysql://a:b@h/c',
  'postgres://h/c',
  'postgres://a:b@h',
  'postgres://a:b@h/c?host=/tmp',
  'postgres://a:b@/c',
  'postgres://a:b@%2Ftmp/c',
  'postgres://a:b@h/c#x',
  'postgres://a:b@h,10.0.0.1/c',
  'postgres://a:b@10.0.0.1/c',
  'postgres://a:b@localhost/c',
  'postgres://a:b@0x7f.1/c',
  'postgres://a:b@h:0/c',
  'postgres://a:b@[::ffff:10.0.0.1]/c',
  'postgres://a:b@h/c/d',
  'postgres://a:%00@h/c',
])('%p cannot be configured', (text) => {
  const strict = new Egress(egressRules({ NODE_ENV: 'production' }));
  const found = applyChange(description, undefined, { secrets: { dsn: text } }, strict);
  expect(Array.isArray(found) && found.map(({ path }) => path)).toEqual(['secrets.dsn']);
});
