import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { type FakeBucket, startFakeBucket } from '../fakes/s3.ts';
import { asOperator, secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { until } from '../until.ts';

let bucket: FakeBucket;
let product: Product;
let base: string;
beforeAll(async () => {
  bucket = await startFakeBucket();
  const { bucket: name, region, endpoint, credentials } = bucket.settings;
  product = await openProduct();
  const storage = {
    STORAGE_DRIVER: 's3',
    S3_BUCKET: name,
    S3_REGION: region,
    S3_ENDPOINT: endpoint!,
    S3_ACCESS_KEY_ID: credentials!.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials!.secretAccessKey,
    S3_FORCE_PATH_STYLE: 'true',
  };
  base = (await product.start(['api', 'runs', 'generation'], { ...secrets, ...storage })).api;
});
afterAll(async () => {
  await product.close();
  await bucket.close();
});

type Checks = Record<string, string>;
const ready = async () => (await fetch(`${base}/api/ready`)).json() as Promise<{ ready: boolean; checks: Checks }>;
/** The first answer whose database was in time: on a busy machine it may be late, and counts as failed then. */
const becomes = (isReady: boolean) =>
  until(isReady ? 'ready' : 'not ready', async () => {
    const answer = await ready();
    return answer.ready === isReady && answer.checks.database === 'ok' && answer;
  });
const health = async () =>
  (await fetch(`${base}/api/admin/health`, { headers: asOperator })).json() as Promise<{
    checks: { storage: { ok: boolean; problem?: string } };
  }>;

test('a bucket that is missing is found at once, and is our fault and not the provider’s', async () => {
  expect(await becomes(true)).toMatchObject({ ready: true, checks: { storage: 'ok' } });
  await until('the storage is well', async () => (await health()).checks.storage.ok);
  bucket.trouble = 'NoSuchBucket';
  const found = 'There is no bucket files.';
  await until('the storage has failed', async () => (await health()).checks.storage.problem === found);
  expect(await becomes(false)).toMatchObject({ ready: false, checks: { storage: 'failed', database: 'ok' } });
  expect((await health()).checks.storage.ok).toBe(false);

  const api = apiClient(base, (await product.createTenant()).testKey);
  bucket.journal.length = 0;
  const { status, body, headers } = await api.post('/api/studio/generate', { prompt: 'A lighthouse' });
  expect({ status, code: body.error.code, message: body.error.message }).toEqual({
    status: 503,
    code: 'service_unavailable',
    message: 'The file storage is not set up.',
  });
  expect(headers.get('retry-after')).toBe('5');
  // One attempt: nothing waits for a bucket that does not exist.
  expect(bucket.journal.filter((line) => line.startsWith('PUT'))).toHaveLength(1);
  bucket.trouble = undefined;
  expect((await api.post('/api/studio/generate', { prompt: 'A lighthouse' })).status).toBe(200);
});
