import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { places } from '../../src/storage/downloads.ts';
import type { NewFile, StoredFile } from '../../src/storage/ports.ts';
import { SignedUrls } from '../../src/storage/signed-urls.ts';
import { removeDueFiles } from '../../src/storage/sweep.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { rawRequest } from '../api/raw-request.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { openFiles } from './open-files.ts';

// A product of its own: tests sweep the files of all tenants.
let product: Product;
let api: string;
let client: ApiClient;
let storage: ReturnType<typeof openFiles>;
let urls: SignedUrls;
let ada: Scope;
let bob: Scope;
let folder: string;

beforeAll(async () => {
  product = await openProduct({ env: secrets });
  folder = join(runningServers().folder, 'files of a test');
  api = (await product.serve({ STORAGE_DIR: folder, PUBLIC_URL: 'https://api.example.com' })).api;
  client = apiClient(api);
  storage = openFiles(product.database, folder);
  // As the process makes them, on the address where it really is.
  urls = new SignedUrls({ key: secrets.URL_SIGNING_KEY, baseUrl: api, seconds: 100 });
  const scopeOf = async () => {
    const { organizationId } = await product.createTenant();
    const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'test' } as const;
    return new Scope(product.database, tenant, 'test');
  };
  [ada, bob] = [await scopeOf(), await scopeOf()];
});
afterAll(() => product.close());

const content = randomBytes(100_000);
const image = (file: Partial<NewFile> = {}): NewFile => ({
  kind: 'image',
  type: 'png',
  content,
  maxBytes: 64 * 1024 * 1024,
  title: 'gen_0199',
  ...file,
});
const record = (scope: Scope, stored: StoredFile, until?: Date) =>
  scope.transaction((tx) => storage.files.record(tx, stored, until));
async function recorded(file?: Partial<NewFile>, scope = ada): Promise<StoredFile> {
  const stored = await storage.files.store(scope, image(file));
  await record(scope, stored);
  return stored;
}
const pathOf = (name: string) => urls.sign(name).slice(api.length);
const pathOnDisk = (name: string) => join(folder, name.slice(0, 2), name);
const code = ({ status, body }: Answer) => [status, body.error?.code];

test('what a file is read from is closed when the database cannot take its name', async () => {
  class Away extends Scope {
    override one(): Promise<never> {
      return Promise.reject(new Error('the database is away'));
    }
  }
  const source = createReadStream(import.meta.filename);
  const stored = storage.files.store(new Away(product.database, ada.tenant, 'test'), image({ content: source }));
  await expect(stored).rejects.toThrow('the database is away');
  expect(source.destroyed).toBe(true);
});

test('what a file is read from may fail before it is read', async () => {
  const gone = join(folder, 'nothing');
  const source = createReadStream(gone);
  class Slow extends Scope {
    override async one(): Promise<undefined> {
      await new Promise<void>((resolve) => source.once('close', resolve));
    }
  }
  const missing = { code: 'ENOENT' };
  const stored = storage.files.store(new Slow(product.database, ada.tenant, 'test'), image({ content: source }));
  await expect(stored).rejects.toMatchObject(missing);
  const failed = new Readable({ read() {} }).destroy(new Error('cut off'));
  await expect(storage.files.receive(failed, { maxBytes: 1 })).rejects.toThrow('cut off');
});

describe('a signed address', () => {
  let stored: StoredFile;
  beforeAll(async () => {
    stored = await recorded();
  });

  test('gives the file to every holder, as bytes that no browser executes', async () => {
    const response = await fetch(urls.sign(stored.name));
    const { headers, status } = response;
    expect(status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
    const eTag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    const expected = {
      'content-type': 'image/png',
      'content-length': '100000',
      etag: eTag,
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline; filename="gen_0199.png"',
      'content-security-policy': 'sandbox',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': expect.stringMatching(/^private, immutable, max-age=(100|\d\d)$/),
      'access-control-allow-origin': null,
      'set-cookie': null,
    };
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)]))).toEqual(expected);
    // The client holds each against the document.
    const head = await client.request('HEAD', pathOf(stored.name));
    expect([head.status, head.body, head.headers.get('content-length')]).toEqual([200, '', '100000']);
    await client.get(`${pathOf(stored.name)}&anything=else`);
    for (const given of [eTag, `W/${eTag}`, `"x", ${eTag}`, '*']) {
      expect(await client.get(pathOf(stored.name), { 'if-none-match': given })).toMatchObject({
        status: 304,
        body: '',
      });
    }
    expect((await client.get(pathOf(stored.name), { 'if-none-match': '"x"' })).status).toBe(200);
  });

  test('gives parts of it', async () => {
    const ask = async (range: string, more?: Record<string, string>) => {
      const response = await fetch(urls.sign(stored.name), { headers: { range, ...more } });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, range: response.headers.get('content-range'), bytes };
    };
    const part = async (range: string, first: number, last: number) => {
      const { bytes, ...answer } = await ask(range);
      expect(answer).toEqual({ status: 206, range: `bytes ${first}-${last}/100000` });
      expect(bytes.equals(content.subarray(first, last + 1))).toBe(true);
    };
    await part('bytes=0-0', 0, 0);
    await part('bytes=70000-', 70_000, 99_999);
    await part('bytes=-10', 99_990, 99_999);
    await part('bytes=99990-200000', 99_990, 99_999);
    for (const ignored of ['bytes=0-1,5-6', 'bytes=x', 'lines=0-1']) {
      expect(await ask(ignored)).toMatchObject({ status: 200, range: null, bytes: { length: 100_000 } });
    }
    expect((await ask('bytes=0-1', { 'if-range': '"of another"' })).status).toBe(200);
    const beyond = await client.get(pathOf(stored.name), { range: 'bytes=100000-' });
    expect(code(beyond)).toEqual([416, 'range_not_satisfiable']);
    expect(beyond.headers.get('content-range')).toBe('bytes */100000');
    const head = await client.request('HEAD', pathOf(stored.name), undefined, { range: 'bytes=0-9' });
    expect([head.status, head.headers.get('content-length')]).toEqual([206, '10']);
  });

  test('is refused when it is changed, missing or over, and is compared before anything is looked up', async () => {
    const good = pathOf(stored.name);
    const past = urls.sign(stored.name, new Date(Date.now() - 101_000)).slice(api.length);
    const another = good.replace(stored.name, `${'n'.repeat(43)}.png`);
    const refused = [
      good.split('?')[0]!,
      good.slice(0, -1),
      `${good}A`,
      good.replace('expires=1', 'expires=2'),
      past,
      another,
      good.replace('.png', '.mp4'),
      `${good}&signature=x`,
      `${good}&expires=1`,
      `${good.replace('&', '%26')}`,
      '/files/x',
      '/files/..%2f..%2fsecrets.json',
      '/files/%00',
      `/files/${'a'.repeat(5_000)}`,
    ];
    for (const path of refused)
      expect({ path, code: code(await client.get(path)) }).toMatchObject({ code: [403, 'forbidden'] });
    // Only a good signature learns whether there is a file.
    expect(code(await client.get(pathOf(`${'n'.repeat(43)}.png`)))).toEqual([404, 'not_found']);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await client.request(method, good);
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
    const raw = await rawRequest(api, { method: 'GET', path: '/files/../files/x?expires=9&signature=x' });
    expect([403, 404]).toContain(raw.status);
  });

  test('ends when the file is removed or lost, and never begins before it is recorded', async () => {
    const pending = await storage.files.store(ada, image());
    expect(existsSync(pathOnDisk(pending.name))).toBe(true);
    const gone = async (name: string) => expect(code(await client.get(pathOf(name)))).toEqual([404, 'not_found']);
    await gone(pending.name);
    const [removed, short, lost] = [await recorded(), await storage.files.store(ada, image()), await recorded()];
    await ada.transaction((tx) => storage.files.remove(tx, [removed.name]));
    await gone(removed.name);
    await record(ada, short, new Date(Date.now() + 3_600_000));
    expect((await client.get(pathOf(short.name))).status).toBe(200);
    await rm(pathOnDisk(lost.name));
    await gone(lost.name);
    expect((await client.request('HEAD', pathOf(lost.name))).status).toBe(404);
  });

  test('holds a place for each reader who stands still, and gives it to others when they leave', async () => {
    const large = await recorded({ content: Buffer.alloc(12 * 1024 * 1024), type: 'mp4' });
    const path = pathOf(large.name);
    const { hostname, port } = new URL(api);
    const sockets: Socket[] = [];
    const standStill = (readers: number) => {
      for (let reader = 0; reader < readers; reader++) {
        const socket = connect(Number(port), hostname).pause();
        sockets.push(socket);
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n`);
      }
    };
    standStill(places.address);
    const ask = (address: string) => client.get(path, { 'x-forwarded-for': address, range: 'bytes=0-9' });
    const refused = await until('all places are taken', async () => {
      const answer = await ask('198.51.100.7');
      if (answer.status === 429) return answer;
      // The question itself takes a place for a moment, which a reader may not have got.
      standStill(1);
      return false;
    });
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(code(refused)).toEqual([429, 'rate_limit_exceeded']);
    expect((await ask('198.51.100.8')).status).toBe(206);
    for (const socket of sockets) socket.destroy();
    await until('they are free again', async () => (await ask('198.51.100.7')).status === 206);
  });
});

describe('files of tenants', () => {
  test('are recorded once, by their owner, in its transaction', async () => {
    const stored = await storage.files.store(ada, image());
    await expect(record(bob, stored)).rejects.toThrow('recorded before');
    const rolledBack = ada.transaction(async (tx) => {
      await storage.files.record(tx, stored);
      throw new Error('the rest failed');
    });
    await expect(rolledBack).rejects.toThrow('the rest failed');
    expect(await storage.files.find(stored.name)).toBeUndefined();
    await record(ada, stored);
    await expect(record(ada, stored)).rejects.toThrow('recorded before');
    await bob.transaction((tx) => storage.files.remove(tx, [stored.name]));
    expect(await storage.files.find(stored.name)).toMatchObject({
      bytes: 100_000,
      contentType: 'image/png',
      title: 'gen_0199',
      sha256: createHash('sha256').update(content).digest(),
      organizationId: ada.tenant.organizationId,
    });
    await expect(ada.transaction((tx) => storage.files.store(tx, image()))).rejects.toThrow('in a transaction');
  });

  test('are swept when they were not recorded for a day, when they are removed, and when they expire', async () => {
    const sweep = (now?: Date) => removeDueFiles(storage, 1_000, now);
    await sweep();
    const kept = await recorded();
    const orphan = await storage.files.store(ada, image());
    const broken = storage.files.store(ada, image({ maxBytes: 10 }));
    await expect(broken).rejects.toMatchObject({ reason: 'too_large' });
    expect(await sweep()).toBe(0);
    const removed = await recorded();
    await storage.files.remove(ada, [removed.name]);
    expect(await sweep(new Date(Date.now() + 60_000))).toBe(1);
    expect(existsSync(pathOnDisk(removed.name))).toBe(false);
    const tomorrow = new Date(Date.now() + 25 * 3_600_000);
    await sweep(tomorrow);
    expect(existsSync(pathOnDisk(orphan.name))).toBe(false);
    await expect(record(ada, orphan)).rejects.toThrow('recorded before');
    // What is left on the disk is what the rows say, and each of them is recorded.
    expect(await storage.files.find(kept.name)).toBeDefined();
    const { rows } = await product.database.pool.query<{ name: string }>(
      'select name from file where recorded_at is not null and remove_at is null order by name',
    );
    const onDisk = (await readdir(folder, { recursive: true })).map((path) => path.split('/')[1]).filter(Boolean);
    // Another test took the file of one row away.
    for (const name of onDisk) expect(rows.map((row) => row.name)).toContain(name);
    expect((await product.database.pool.query('select from file where recorded_at is null')).rowCount).toBe(0);
  });

  test('that cannot be removed are tried again, after all others', async () => {
    const [stuck, other] = [await recorded(), await recorded()];
    await storage.files.remove(ada, [stuck.name]);
    await storage.files.remove(ada, [other.name]);
    const disk = {
      put: storage.disk.put,
      open: storage.disk.open,
      check: storage.disk.check,
      close() {},
      async remove(name: string) {
        if (name === stuck.name) throw new Error('the bucket refuses');
        await storage.disk.remove(name);
      },
    };
    const now = new Date(Date.now() + 60_000);
    expect(await removeDueFiles({ ...storage, disk }, 1, now)).toBe(0);
    expect(await removeDueFiles({ ...storage, disk }, 1, now)).toBe(1);
    expect([stuck, other].map(({ name }) => existsSync(pathOnDisk(name)))).toEqual([true, false]);
    expect(await removeDueFiles(storage, 10, now)).toBe(1);
  });
});
