import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import sharp from 'sharp';
import { type ApiClient, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { fileAt } from './files.ts';
import { type ImageServer, openImageServer } from './image-server.ts';
import { blank, noise, square, textBomb } from './pictures.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let product: Product;
let process: ProductProcess;
let api: ApiClient;
let images: ImageServer;
beforeAll(async () => {
  const small = await square(64, 64).png().toBuffer();
  images = await openImageServer({
    '/small.png': small,
    '/texts.png': textBomb(small, 40),
    '/large.jpg': await noise(2_000, 1_900).jpeg().toBuffer(),
    '/turned.png': await blank(30, 20).withMetadata({ orientation: 6 }).png().toBuffer(),
    '/turned.webp': await blank(30, 20).withMetadata({ orientation: 6 }).webp().toBuffer(),
    '/wide.jpg': await square(60, 40).withIccProfile('p3').jpeg().toBuffer(),
  });
  product = await openProduct();
  process = await product.start(['api', 'runs', 'generation'], { ...secrets, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
  api = await newClient('enterprise');
});
afterAll(async () => {
  await images?.close();
  await product?.close();
});

const newClient = async (plan: string) => apiClient(process.api, (await product.createTenant({ plan })).testKey);

/** Seconds of a processor that a process, its children and theirs have used; those that ended too. */
function cpuSeconds(pid: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'latin1');
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
        return [{ pid: Number(name), parent: Number(fields[1]), ticks: fields.slice(11, 15).map(Number) }];
      } catch {
        // It ended meanwhile.
        return [];
      }
    });
  const of = (one: number): number =>
    all.filter(({ parent }) => parent === one).reduce((sum, child) => sum + of(child.pid), own(one));
  const own = (one: number) => all.find((each) => each.pid === one)?.ticks.reduce((sum, each) => sum + each, 0) ?? 0;
  return of(pid) / 100;
}

test('what an image carries beside its pixels is not unpacked: 40 texts of 256 MiB cost next to nothing', async () => {
  const upscale = (path: string) => api.post('/api/studio/upscale', { imageUrl: images.at(path) });
  const first = await upscale('/small.png');
  expect(first.status).toBe(200);
  const before = cpuSeconds(process.pid);
  const answer = await upscale('/texts.png');
  expect(answer).toMatchObject({ status: 200, body: { data: { newWidth: 128, newHeight: 128 } } });
  expect(cpuSeconds(process.pid) - before).toBeLessThan(8);
});

test('an image stands upright and keeps its colours without the rest of its metadata', async () => {
  for (const path of ['/turned.png', '/turned.webp']) {
    const { body } = await api.post('/api/studio/upscale', { imageUrl: images.at(path) });
    expect(body.data).toMatchObject({ originalWidth: 20, originalHeight: 30, newWidth: 40, newHeight: 60 });
  }
  const { body } = await api.post('/api/studio/upscale', { imageUrl: images.at('/wide.jpg') });
  const { data } = await sharp(await fileAt(body.data.url))
    .extract({ left: 59, top: 39, width: 2, height: 2 })
    .raw()
    .toBuffer({ resolveWithObject: true });
  // Without its profile the red of Display P3 would be 203.
  expect(data[0]).toBeGreaterThan(210);
});

test('twelve upscales and twelve videos of one Free key leave no image of another organization unanswered', async () => {
  const [busy, other] = await Promise.all([newClient('free'), newClient('free')]);
  // They take minutes, and no caller waits for them: the process is ended with the file.
  for (let asked = 0; asked < 12; asked++) {
    busy.post('/api/studio/upscale', { imageUrl: images.at('/large.jpg'), scale: 4 }).catch(() => {});
  }
  const videos = Array.from({ length: 12 }, (_, at) =>
    busy.post('/api/studio/generate-video', { prompt: `Waves ${at}`, duration: 10 }),
  );
  const ids: string[] = (await Promise.all(videos)).flatMap(({ body }) => body.data?.id ?? []);
  expect(ids.length).toBeGreaterThan(0);
  await until('the work of the one is under way', async () => images.asked('/large.jpg') > 0);
  const isBusy = async () => {
    const states = await Promise.all(
      ids.map(async (id) => (await busy.get(`/api/studio/generate-video?id=${id}`)).body.data.status),
    );
    return states.includes('processing');
  };
  for (let asked = 0; asked < 20; asked++) {
    const answer = await other.post('/api/studio/generate', { prompt: `A boat ${asked}` });
    expect(answer.status).toBe(200);
    if (asked === 4) expect(await isBusy()).toBe(true);
  }
});
