import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readEnv } from '../platform/env.ts';
import { Metrics } from '../platform/observability/metrics.ts';
import { LocalDisk } from './local-disk.ts';
import { storage } from './part.ts';
import { S3Bucket } from './s3-bucket.ts';
import { bucketSettings, folders, type StorageEnv, storageSettings } from './settings.ts';

const base = { DATABASE_URL: 'postgres://x@127.0.0.1/x', TEMPORAL_ADDRESS: '127.0.0.1:7233' };
const read = (variables: Record<string, string>): StorageEnv => readEnv([storageSettings], { ...base, ...variables });
const log = pino({ level: 'silent' });
const open = (variables: Record<string, string>) =>
  storage.open({
    env: read(variables),
    draining: new AbortController(),
    log,
    metrics: new Metrics(log),
  } as Parameters<typeof storage.open>[0]);

test('files are on the local disk unless a bucket is chosen', async () => {
  expect((await open({})).disk).toBeInstanceOf(LocalDisk);
  expect(folders(read({ STORAGE_DIR: '/data' }))).toEqual({ files: '/data', spool: '/data/incoming' });
  const { disk } = await open({ STORAGE_DRIVER: 's3', S3_BUCKET: 'files' });
  expect(disk).toBeInstanceOf(S3Bucket);
  disk.close();
});

test('addresses are on STORAGE_URL, else on PUBLIC_URL, for as long as is said', async () => {
  const key = { URL_SIGNING_KEY: 'k'.repeat(32), PUBLIC_URL: 'https://api.example.com' };
  const start = async (more: object) => (await open({ ...key, ...more })).signedUrls.sign('x.png', new Date(0));
  expect(await start({})).toMatch(/^https:\/\/api\.example\.com\/files\/x\.png\?expires=86400&/);
  const given = { STORAGE_URL: 'https://files.example.com/of/us/', STORAGE_URL_SECONDS: '60' };
  expect(await start(given)).toMatch(/^https:\/\/files\.example\.com\/of\/us\/files\/x\.png\?expires=60&/);
});

test('a bucket needs its name and both halves of a key, and an end has a limit', () => {
  const settings = (more: Record<string, string>) => bucketSettings(read({ S3_BUCKET: 'files', ...more }));
  expect(settings({})).toEqual({ bucket: 'files', region: 'us-east-1', forcePathStyle: false, prefix: '' });
  const credentials = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };
  expect(settings({ ...credentials, S3_FORCE_PATH_STYLE: 'true', S3_PREFIX: '/of/us/' })).toMatchObject({
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    forcePathStyle: true,
    prefix: 'of/us',
  });
  expect(() => bucketSettings(read({}))).toThrow('S3_BUCKET: is not set');
  expect(() => settings({ S3_ACCESS_KEY_ID: 'id' })).toThrow('S3_SECRET_ACCESS_KEY: is not set');
  expect(() => settings({ S3_SECRET_ACCESS_KEY: 'secret' })).toThrow('S3_ACCESS_KEY_ID: is not set');
  for (const seconds of ['0', '604801', '1.5', 'x']) {
    expect(() => read({ STORAGE_URL_SECONDS: seconds })).toThrow('STORAGE_URL_SECONDS');
  }
});
