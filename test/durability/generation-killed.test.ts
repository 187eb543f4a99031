import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import sharp from 'sharp';
import { removeDueFiles } from '../../src/storage/sweep.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { RoleName } from '../../workers/roles.ts';
import { apiClient } from '../api-client.ts';
import { soonNoticed } from '../crash/oracle.ts';
import { successorOf } from '../crash/successor.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers } from '../servers.ts';
import { openFiles } from '../storage/open-files.ts';
import { openImageServer } from '../studio/image-server.ts';
import { viewStudio } from '../temporal-studio.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
const roles: RoleName[] = ['api', 'runs', 'generation'];
const client = () => apiClient(process.api, tenant.testKey);
beforeAll(async () => {
  product = await openProduct({
    entryPoint: soonNoticed,
    env: { ...secrets, EGRESS_ALLOW_CIDRS: '127.0.0.1/32' },
  });
  [process, tenant] = [await product.start(roles), await product.createTenant({ plan: 'enterprise' })];
});
afterAll(() => product.close());

/** What is left of the tenant's credits, what was made, and which of its files can be read. */
async function state() {
  const { balance, reserved } = (await client().get('/api/v1/credits')).body.data;
  const { total } = (await client().get('/api/studio/history')).body.data;
  const { rows } = await product.database.pool.query(
    `select count(*)::int as files from file
      where organization_id = $1 and recorded_at is not null and (remove_at is null or remove_at > clock_timestamp())`,
    [organizationIds.parse(tenant.organizationId)],
  );
  return { balance, reserved, total, files: rows[0].files };
}

test.each(['file.stored', 'generation.input_recorded'])(
  'killed at %s, when its image is fetched: it is enlarged and paid once, and the image is not kept',
  async (at) => {
    const png = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const images = await openImageServer({ '/red.png': png });
    try {
      const before = await state();
      const asked = { imageUrl: images.at('/red.png', at) };
      const once = { 'idempotency-key': `image ${at}` };
      await process.arm(at);
      await expect(client().post('/api/studio/upscale', asked, once)).rejects.toThrow();
      process = await successorOf(process, product, roles);
      // The image of the first attempt is an orphan, or the one that the second works on.
      const after = { ...before, balance: before.balance - 1, files: before.files + 1 };
      await until('it is completed', async () => (await state()).balance === after.balance);
      expect(await state()).toEqual(after);
      const retry = await client().post('/api/studio/upscale', asked, once);
      expect(retry).toMatchObject({ status: 200, body: { data: { newWidth: 60, newHeight: 40, creditsUsed: 1 } } });
      expect(images.asked('/red.png')).toBe(at === 'file.stored' ? 2 : 1);
      expect(await state()).toEqual(after);
    } finally {
      await images.close();
    }
  },
);

/** Where a video stands. */
const video = async (id: string) => (await client().get(`/api/studio/generate-video?id=${id}`)).body.data;

test('killed when a video is stored and not recorded: it is made and paid once', async () => {
  const before = await state();
  await process.arm('generation.stored');
  const { id } = (await client().post('/api/studio/generate-video', { prompt: 'Waves' })).body.data;
  process = await successorOf(process, product, roles);
  await until('it is completed', async () => (await video(id)).status === 'completed');
  const after = { balance: before.balance - 25, reserved: 0, total: before.total + 1, files: before.files + 1 };
  expect(await state()).toEqual(after);
  await until('nothing is owed', async () => (await product.database.pool.query('select from outbox')).rowCount === 0);
  expect(await state()).toEqual(after);
});

test('killed between the commit of a cancellation and the notification of Temporal: the video is cancelled, and stopped all the same', async () => {
  const before = await state();
  const temporal = await viewStudio();
  const { id } = (await client().post('/api/studio/generate-video', { prompt: 'sandbox:slow=600 Waves' })).body.data;
  await until('it waits', async () => /^Waits/.test(await temporal.detailsOf(id)));
  await process.arm('generation.cancelled');
  await expect(client().post(`/api/studio/generate-video/${id}/cancel`)).rejects.toThrow();
  process = await successorOf(process, product, roles);
  expect([await video(id), await state()]).toEqual([{ id, status: 'cancelled' }, before]);
  await until('Temporal has stopped it', async () => (await temporal.statusOf(id)) === 'CANCELLED');
  expect([await video(id), await state()]).toEqual([{ id, status: 'cancelled' }, before]);
  await temporal.close();
});

test('cancelled when a video is stored and not recorded: it stays cancelled, and costs nothing', async () => {
  const before = await state();
  const temporal = await viewStudio();
  const stored = await process.hold('generation.stored');
  const { id } = (await client().post('/api/studio/generate-video', { prompt: 'Waves' })).body.data;
  await stored.reached;
  const cancel = async () => (await client().post(`/api/studio/generate-video/${id}/cancel`)).body.data;
  const cancelled = { id, status: 'cancelled' };
  expect([await cancel(), await cancel()]).toEqual([cancelled, cancelled]);
  expect(await state()).toEqual(before);
  await stored.release();
  await until('its workflow is over', async () => (await temporal.statusOf(id)) !== 'RUNNING');
  expect([await video(id), await state()]).toEqual([cancelled, before]);
  await temporal.close();
});

test('a day later the sweep has removed what the dead processes stored, and nothing else', async () => {
  const { pool } = product.database;
  const namesOf = async (sql: string) =>
    (await pool.query<{ name: string }>(sql)).rows.map(({ name }) => name).toSorted();
  const folder = join(runningServers().folder, 'files');
  const isThere = (name: string) => existsSync(join(folder, name.slice(0, 2), name));
  const stored = (await namesOf('select name from file')).filter(isThere);
  const orphans = (await namesOf('select name from file where recorded_at is null')).filter(isThere);
  expect(orphans.length).toBeGreaterThan(0);
  const storage = openFiles(product.database, folder);
  while ((await removeDueFiles(storage, 100, new Date(Date.now() + 25 * 3_600_000))) > 0);
  const kept = await namesOf('select file as name from generation where file is not null');
  expect(await namesOf('select name from file')).toEqual(kept);
  expect(stored.filter(isThere)).toEqual(kept);
});
