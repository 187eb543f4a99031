import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type FakeBucket, startFakeBucket, type Trouble } from '../../test/fakes/s3.ts';
import { describeDisk } from '../../test/storage/disk-suite.ts';
import { until } from '../../test/until.ts';
import { LocalDisk } from './local-disk.ts';
import { S3Bucket } from './s3-bucket.ts';
import { Spool } from './spool.ts';

const newName = () => `${randomBytes(32).toString('base64url')}.png`;
const folder = mkdtempSync(join(tmpdir(), 'atelier-disks-'));
const spool = new Spool(join(folder, 'incoming'));
let bucket: FakeBucket;
beforeAll(async () => {
  bucket = await startFakeBucket();
});
afterAll(async () => {
  await bucket.close();
  rmSync(folder, { recursive: true });
});

/** The files that this process has open. */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });

const write = (content: Uint8Array | Readable, maxBytes = 64 * 1024 * 1024, signal?: AbortSignal) =>
  spool.write(newName(), content, { maxBytes, signal });

describeDisk('the local disk', () => new LocalDisk(join(folder, 'files')), { spool });
describeDisk('a bucket', () => new S3Bucket(bucket.settings), { spool, sending: () => bucket.sending });

describe('a bucket that does not work', () => {
  const broken = (trouble: Trouble, silence = 30_000) => {
    bucket.trouble = trouble;
    return new S3Bucket(bucket.settings, { silence });
  };

  test.each(['AccessDenied', 'NoSuchBucket', 'SlowDown'] as const)('says so: %s', async (trouble) => {
    const disk = broken(trouble);
    const spooled = await write(Buffer.from('x'));
    await expect(disk.put(newName(), spooled)).rejects.toThrow();
    await expect(disk.open(newName(), undefined)).rejects.toThrow();
    await expect(disk.remove(newName())).rejects.toThrow();
    expect(existsSync(spooled.path)).toBe(true);
    disk.close();
  });

  test('leaves no file open when it cannot be reached', async () => {
    const spooled = await write(randomBytes(4_000_000));
    const disk = new S3Bucket({ ...bucket.settings, endpoint: 'http://127.0.0.1:9' });
    await expect(disk.put(newName(), spooled)).rejects.toThrow('ECONNREFUSED');
    await until('the file is closed', async () => !openFiles().includes(spooled.path));
    disk.close();
  });

  test('is not waited for', async () => {
    const disk = broken('silence', 100);
    await expect(disk.open(newName(), undefined)).rejects.toThrow();
    await expect(disk.put(newName(), await write(randomBytes(2_000_000)))).rejects.toThrow();
    disk.close();
  });

  test('is distinguished from a whole object when it sends half of one', async () => {
    bucket.trouble = undefined;
    const disk = broken('half');
    bucket.objects.set('of/tests/half.png', { body: randomBytes(1_000_000), type: 'image/png' });
    const stream = (await disk.open('half.png', undefined))!;
    await expect(buffer(stream)).rejects.toThrow();
    disk.close();
  });

  test('refuses another secret, without a second try', async () => {
    bucket.trouble = undefined;
    bucket.journal.length = 0;
    const credentials = { accessKeyId: 'AKIAFAKE', secretAccessKey: 'another' };
    const disk = new S3Bucket({ ...bucket.settings, credentials });
    await expect(disk.open(newName(), undefined)).rejects.toThrow();
    expect(bucket.journal).toEqual([]);
    disk.close();
  });
});

describe('the spool', () => {
  const left = () => readdirSync(join(folder, 'incoming'));

  test('takes streams a piece at a time, and measures them', async () => {
    let ahead = 0;
    let max = 0;
    async function* pieces() {
      for (let index = 0; index < 256; index++) {
        max = Math.max(max, ++ahead);
        yield Buffer.alloc(64 * 1024, index);
        ahead--;
      }
    }
    const { bytes, sha256, path } = await spool.write(newName(), pieces(), { maxBytes: 16 * 1024 * 1024 });
    expect({ bytes, length: sha256.length, max }).toEqual({ bytes: 16 * 1024 * 1024, length: 32, max: 1 });
    await rm(path);
  });

  test('leaves nothing of what is too large, breaks off or is given up, and passes the reason on', async () => {
    const before = left();
    await expect(write(Buffer.alloc(11), 10)).rejects.toMatchObject({ reason: 'too_large' });
    const broken = Readable.from(
      (function* () {
        yield Buffer.alloc(10);
        throw new Error('the source broke');
      })(),
    );
    await expect(write(broken)).rejects.toThrow('the source broke');
    const silent = new Readable({ read() {} });
    silent.push('begun');
    const giveUp = new AbortController();
    const waiting = write(silent, 100, giveUp.signal);
    giveUp.abort(new Error('nobody waits'));
    await expect(waiting).rejects.toThrow('nobody waits');
    expect(silent.destroyed).toBe(true);
    expect(left()).toEqual(before);
  });

  // To a process, its limit on the size of a file is a disk that is full. Every system has it, and everybody may lower it.
  test('says when no space is left, and cleans up', async () => {
    const program = fileURLToPath(new URL('../../test/storage/spool-writer.ts', import.meta.url));
    const command = ['-c', 'ulimit -f 64 && exec "$@"', 'sh', process.execPath, program, join(folder, 'limited')];
    const { stdout } = await promisify(execFile)('sh', command, { env: {} });
    expect(JSON.parse(stdout)).toEqual({ reason: 'full', kind: 'service_unavailable', retryAfter: 60, left: [] });
  });

  test('forgets what was left unfinished a day ago, and nothing younger', async () => {
    for (const name of left()) await rm(join(folder, 'incoming', name));
    const [old, young] = ['old', 'young'].map((name) => join(folder, 'incoming', name));
    for (const path of [old!, young!]) writeFileSync(path, 'half');
    const yesterday = new Date(Date.now() - 90_000_000);
    await utimes(old!, yesterday, yesterday);
    expect(await spool.sweep(new Date(Date.now() - 86_400_000))).toBe(1);
    expect(left()).toEqual(['young']);
  });
});
