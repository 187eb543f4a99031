import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import sharp from 'sharp';
import { httpServer, type LoopbackServer } from '../../test/loopback-server.ts';
import { Egress } from '../platform/egress/egress.ts';
import { egressRules } from '../platform/egress/egress-destination.ts';
import { readImageHeader } from './core/image-header.ts';
import { fetchImage, imageLimits } from './fetch-image.ts';
import { SignedUrls } from './signed-urls.ts';

// 127.0.0.1 stands for the public; the rest of loopback is as closed as it is to the product.
const rules = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1/32'] });
const egress = new Egress(rules, { resolve: async (name) => [name.startsWith('inside') ? '127.0.0.2' : '127.0.0.1'] });
const signedUrls = new SignedUrls({ key: 'k'.repeat(32), baseUrl: 'http://127.0.0.1:1/base', seconds: 60 });
const ownName = `${'n'.repeat(43)}.png`;

let folder: string;
let fetches = 0;
let png: Buffer;
let server: LoopbackServer;
let answer: RequestListener;
const asked: string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fetch-image-'));
  png = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  server = await httpServer((request, response) => {
    asked.push(request.url!);
    answer(request, response);
  });
});
afterEach(() => {
  asked.length = 0;
});
afterAll(async () => {
  await egress.close();
  await server.close();
  await rm(folder, { recursive: true });
});

const at = (path = '/', host = '127.0.0.1') => `http://${host}:${server.port}${path}`;
const files = {
  find: async (name: string) =>
    name === ownName
      ? { name, organizationId: 'o', contentType: 'image/png', bytes: png.length, sha256: Buffer.alloc(32), title: 't' }
      : undefined,
  copyTo: (_: string, path: string) => writeFile(path, png),
};
async function fetched(url: string, more?: Parameters<typeof fetchImage>[3]) {
  const path = join(folder, String(fetches++));
  const header = await fetchImage({ egress, files, signedUrls }, url, path, more);
  return { ...header, bytes: await readFile(path) };
}

async function refusal(url: string, more?: Parameters<typeof fetchImage>[3]): Promise<string> {
  const error = await fetched(url, more).catch((thrown) => thrown);
  expect(error).toMatchObject({ kind: 'validation_error', facts: { errors: [{ path: 'imageUrl' }] } });
  return error.facts.errors[0].message;
}

const redirectTo = (...places: string[]): RequestListener => {
  const left = [...places];
  return (_, response) => {
    const next = left.shift();
    if (next) response.writeHead(302, { location: next }).end('moved');
    else response.end(png);
  };
};

describe('an image of another server', () => {
  test('is fetched and known by its first bytes, whatever the server calls it', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(png);
    expect(await fetched(at('/cat.gif'))).toMatchObject({ type: 'png', width: 30, height: 20, bytes: png });
  });

  test('is fetched over three redirects and no more, each of them guarded', async () => {
    answer = redirectTo('/2', at('/3', 'images.example'), '/4');
    expect((await fetched(at('/1'))).bytes.equals(png)).toBe(true);
    expect(asked).toEqual(['/1', '/2', '/3', '/4']);
    answer = redirectTo('/2', '/3', '/4', '/5');
    expect(await refusal(at('/1'))).toBe('More than 3 redirects.');
    for (const place of [
      at('/secret', '127.0.0.2'),
      at('/secret', 'inside.example'),
      'file:///etc/passwd',
      'http://[::1]/',
    ]) {
      asked.length = 0;
      answer = redirectTo(place);
      expect(await refusal(at('/1'))).toMatch(/not allowed/);
      expect(asked).toEqual(['/1']);
    }
    answer = redirectTo('http://');
    expect(await refusal(at('/1'))).toMatch(/invalid URL/);
  });

  test('is refused with a reason, and without a request where the address alone says so', async () => {
    for (const url of ['data:image/png;base64,AAAA', 'ftp://example.com/x', 'nonsense', '', at('/', '127.0.0.2')]) {
      expect(await refusal(url)).toMatch(/not allowed/);
    }
    expect(asked).toEqual([]);
    const bodies: [RequestListener, RegExp][] = [
      [(_, response) => response.writeHead(404).end(png), /answered 404/],
      [(_, response) => response.writeHead(204).end(), /answered 204/],
      [(_, response) => response.writeHead(302).end(), /answered 302/],
      [(_, response) => response.end(), /empty/],
      [
        (_, response) => response.end('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
        /Expected a PNG/,
      ],
      [(_, response) => response.end('GIF89a\x01\x00\x01\x00'), /Expected a PNG/],
      [(_, response) => response.end('\0\0\0\x20ftypavif\0\0\0\0avifmif1'), /Expected a PNG/],
      [(_, response) => response.destroy(), /closed before/],
      [
        (_, response) => response.writeHead(200, { 'content-length': 9_999 }).write(png, () => response.destroy()),
        /closed before/,
      ],
    ];
    for (const [one, reason] of bodies) {
      answer = one;
      expect(await refusal(at())).toMatch(reason);
    }
    expect(await refusal('http://127.0.0.1:1/x')).toMatch(/could not be established/);
  });

  test('costs a bounded time and a bounded number of bytes', async () => {
    answer = (_, response) => void response.writeHead(200).write('begun');
    expect(await refusal(at(), { deadlineMs: 300 })).toMatch(/in time/);
  });

  test('is refused when it drips, after its first byte and before it', async () => {
    const closed = Promise.withResolvers<void>();
    answer = (_, response) => {
      const dripping = setInterval(() => response.write('x'), 10);
      response.once('close', () => {
        clearInterval(dripping);
        closed.resolve();
      });
      response.writeHead(200, { 'content-length': 10_000_000 });
    };
    expect(await refusal(at(), { secondMs: 100 })).toMatch(/less than 16384 bytes a second for 5 seconds/);
    // Not even its headers end.
    const raw = createServer((socket) => {
      const dripping = setInterval(() => socket.write('x'), 10);
      socket.once('error', () => {}).once('close', () => clearInterval(dripping));
      socket.write('HTTP/1.1 200 OK\r\nx-long: ');
    });
    await once(raw.listen(0, '127.0.0.1'), 'listening');
    const { port } = raw.address() as AddressInfo;
    expect(await refusal(`http://127.0.0.1:${port}/`, { secondMs: 100 })).toMatch(/sent nothing for 10 seconds/);
    raw.close();
    await closed.promise;
    const giveUp = new AbortController();
    const waiting = fetched(at(), { signal: giveUp.signal });
    giveUp.abort(new Error('nobody waits'));
    await expect(waiting).rejects.toThrow('nobody waits');
    let sent = 0;
    answer = (_, response) => {
      const piece = Buffer.alloc(1024 * 1024);
      const more = () => {
        while (!response.destroyed) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
      };
      more();
    };
    expect(await refusal(at())).toMatch(/larger than/);
    expect(sent).toBeLessThan(2 * imageLimits.bytes);
  });

  test('is known where much stands before its picture', async () => {
    const jpeg = await sharp(png)
      .withExif({ IFD0: { ImageDescription: 'x'.repeat(40_000) } })
      .jpeg()
      .toBuffer();
    // A segment may have 65,533 bytes, and there may be any number of them.
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0xff, 0xff]), Buffer.alloc(65_533, 'x')]);
    const long = Buffer.concat([jpeg.subarray(0, 2), ...Array.from({ length: 20 }, () => comment), jpeg.subarray(2)]);
    answer = (_, response) => response.end(long);
    expect(await fetched(at())).toMatchObject({ type: 'jpg', width: 30, height: 20 });
  });

  test('is refused without its body when its server refuses, however much that says', async () => {
    let sent = 0;
    answer = (_, response) => {
      response.writeHead(404);
      const piece = Buffer.alloc(64 * 1024);
      const more = () => {
        while (!response.destroyed) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
      };
      more();
    };
    expect(await refusal(at())).toMatch(/answered 404/);
    expect(sent).toBeLessThan(imageLimits.bytes);
  });

  test('is refused by its header when it would fill the memory', async () => {
    const bomb = Buffer.from(png);
    bomb.writeUInt32BE(100_000, 16);
    bomb.writeUInt32BE(100_000, 20);
    answer = (_, response) => response.end(bomb);
    expect(await refusal(at())).toMatch(/10000000000 pixels/);
  });
});

test('an address of our own is read from the storage, while it holds', async () => {
  expect(await fetched(signedUrls.sign(ownName))).toMatchObject({ type: 'png', width: 30, bytes: png });
  const unknown = `${'u'.repeat(43)}.png`;
  expect(await refusal(signedUrls.sign(unknown))).toMatch(/no longer exists/);
  expect(await refusal(signedUrls.sign(ownName, new Date(Date.now() - 100_000)))).toMatch(/has expired/);
  expect(await refusal(signedUrls.sign(ownName).slice(0, -1))).toMatch(/not valid/);
  answer = redirectTo(signedUrls.sign(ownName));
  expect((await fetched(at())).bytes.equals(png)).toBe(true);
});

test('headers of every kind are read as the decoder reads them, and cut ones are no headers', async () => {
  const picture = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 4, background: { r: 9, g: 99, b: 9, alpha: 0.5 } } });
  for (const [width, height] of [
    [1, 1],
    [300, 7],
    [5_000, 3],
  ] as const) {
    const made = await Promise.all([
      picture(width, height).png().toBuffer(),
      picture(width, height).jpeg().toBuffer(),
      picture(width, height)
        .jpeg({ progressive: true })
        .withExif({ IFD0: { Software: 'x' } })
        .toBuffer(),
      picture(width, height).webp().toBuffer(),
      picture(width, height).removeAlpha().webp().toBuffer(),
      picture(width, height).webp({ lossless: true }).toBuffer(),
    ]);
    for (const image of made) {
      const { format } = await sharp(image).metadata();
      expect(readImageHeader(image)).toEqual({ type: format === 'jpeg' ? 'jpg' : format, width, height });
      for (let length = 0; length < Math.min(image.length, 40); length++) {
        const header = readImageHeader(image.subarray(0, length));
        if (header) expect(header).toMatchObject({ width, height });
      }
    }
  }
});
