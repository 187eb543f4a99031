import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findFreePort } from '../../local/ports.ts';
import { S3Bucket } from '../../src/storage/s3-bucket.ts';
import type { BucketSettings } from '../../src/storage/settings.ts';
import { Spool } from '../../src/storage/spool.ts';
import { describeDisk } from '../storage/disk-suite.ts';
import { until } from '../until.ts';

// A real S3 server (Versity S3 Gateway), which checks signatures and checksums.

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = join(root, 'node_modules/.cache/versitygw');
const folder = mkdtempSync(join(tmpdir(), 'atelier-s3-'));
const spool = new Spool(join(folder, 'spool'));
const credentials = { accessKeyId: 'atelier', secretAccessKey: 'secret-of-this-test' };

let server: ChildProcess;
let settings: BucketSettings;

beforeAll(async () => {
  // Minutes the first time; later Go finds it in its cache.
  const build = ['build', '-o', program, 'github.com/versity/versitygw/cmd/versitygw'];
  await promisify(execFile)('go', build, { cwd: join(root, 'tools/s3') });
  const port = await findFreePort();
  const endpoint = `http://127.0.0.1:${port}`;
  settings = { bucket: 'files', region: 'us-east-1', endpoint, credentials, forcePathStyle: true, prefix: 'of/tests' };
  mkdirSync(join(folder, 'buckets', settings.bucket), { recursive: true });
  server = spawn(program, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--nometa', join(folder, 'buckets')], {
    stdio: 'ignore',
    env: { ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
  });
  await until('the server answers', () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  );
}, 900_000);
afterAll(() => {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

describeDisk('a bucket of a real server', () => new S3Bucket(settings), { spool });

test('a wrong secret, another bucket and a damaged file are refused', async () => {
  const name = 'refused.png';
  const nameOf = (error: Error) => error.name;
  const wrong = { ...settings, credentials: { ...credentials, secretAccessKey: 'another' } };
  expect(await new S3Bucket(wrong).open(name, undefined).catch(nameOf)).toBe('SignatureDoesNotMatch');
  expect(await new S3Bucket({ ...settings, bucket: 'nobodys' }).open(name, undefined).catch(nameOf)).toBe(
    'NoSuchBucket',
  );
  const spooled = await spool.write(name, Buffer.from('abc'), { maxBytes: 3 });
  const damaged = { ...spooled, sha256: Buffer.alloc(32) };
  expect(await new S3Bucket(settings).put(name, damaged).catch(nameOf)).toBe('BadDigest');
  expect(await new S3Bucket(settings).open(name, undefined)).toBeUndefined();
});
