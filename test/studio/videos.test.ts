import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { videoIds } from '../../src/studio/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { type StudioView, viewStudio } from '../temporal-studio.ts';
import { until } from '../until.ts';
import { creditsOf, fileAt, sha256 } from './files.ts';
import { measureMp4 } from './mp4.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let temporal: StudioView;
beforeAll(async () => {
  [product, temporal] = await Promise.all([sharedProduct(), viewStudio()]);
});
afterAll(async () => {
  await temporal?.close();
  await product?.close();
});

const path = '/api/studio/generate-video';
const newTenant = async (plan = 'pro') =>
  apiClient(product.process.api, (await product.createTenant({ plan })).testKey);

async function start(on: ApiClient, body: object, headers?: Record<string, string>): Promise<string> {
  const answer = await on.post(path, body, headers);
  expect(answer).toMatchObject({ status: 200, body: { data: { status: 'processing' } } });
  return answer.body.data.id;
}
const read = async (on: ApiClient, id: string) => (await on.get(`${path}?id=${id}`)).body.data;
const cancel = (on: ApiClient, id: string) => on.post(`${path}/${id}/cancel`);

const ended = (on: ApiClient, id: string) =>
  until('the video ends', async () => {
    const video = await read(on, id);
    return video.status !== 'processing' && video;
  });

/** A video that has ended. Before that it shows its progress, which never falls. */
async function watched(on: ApiClient, id: string) {
  const seen: number[] = [];
  const video = await until('the video ends', async () => {
    const now = await read(on, id);
    if (now.status === 'processing') {
      expect(Object.keys(now).sort()).toEqual(['id', 'progress', 'status']);
      seen.push(now.progress);
    }
    return now.status !== 'processing' && now;
  });
  expect(seen.every((one) => Number.isInteger(one) && one >= 0 && one <= 99)).toBe(true);
  expect(seen.toSorted((one, other) => one - other)).toEqual(seen);
  return video;
}

describe('a video', () => {
  test('shows its progress while it is made, is a file of the requested length and size, and is announced', async () => {
    const hold = newHold(product.database);
    // It is expected to take ten minutes, which the test lets pass.
    const prompt = `sandbox:slow=600 ${hold.word} Waves`;
    const asked = { prompt, model: 'kling-1.5-pro', duration: 5.5, aspectRatio: '9:16' };
    const key = { 'idempotency-key': 'one' };
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    const subscribed = await tenant.post('/api/v1/webhooks', {
      name: 'Videos',
      url: 'https://hooks.example.com/videos',
      events: ['studio.video.completed'],
    });
    const first = await tenant.post(path, asked, key);
    expect(first).toMatchObject({ status: 200, body: { data: { status: 'processing', estimatedTime: 600 } } });
    const { id } = first.body.data;
    expect(id).toMatch(/^vid_[0-9a-f]{32}$/);
    expect(await creditsOf(tenant)).toEqual({ balance, reserved: 30 });
    const uuid = videoIds.parse(id)!;
    expect((await tenant.get(`/api/studio/generations/${uuid}`)).body.data).toMatchObject({
      id,
      type: 'video',
      status: 'processing',
      prompt,
      error: null,
      progress: expect.any(Number),
      completedAt: null,
    });

    const progress: number[] = [];
    for (const minutes of [2, 3, 5]) {
      const passed = `update generation set created_at = created_at - make_interval(mins => $2) where id = $1`;
      await product.database.pool.query(passed, [uuid, minutes]);
      progress.push((await read(tenant, uuid)).progress);
    }
    expect(progress[0]).toBeGreaterThanOrEqual(20);
    expect(progress[1]).toBeGreaterThan(progress[0]!);
    expect(progress[2]).toBe(99);
    await hold.release();
    const video = await watched(tenant, uuid);
    const { url, ...rest } = video;
    expect(rest).toEqual({ id, status: 'completed', duration: 5.5, width: 576, height: 1024, creditsUsed: 30 });
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 30, reserved: 0 });

    expect(measureMp4(await fileAt(url))).toMatchObject({
      seconds: 5.5,
      width: 576,
      height: 1024,
      isWhole: true,
      isFastStart: true,
    });

    const answer = await tenant.post(path, asked, key);
    expect([answer.body.data, answer.headers.get('idempotent-replayed')]).toEqual([first.body.data, 'true']);
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 30, reserved: 0 });
    const { items, total } = (await tenant.get('/api/studio/history?type=video')).body.data;
    expect([total, items[0]]).toEqual([1, expect.objectContaining({ id, type: 'video', prompt })]);

    const webhook = subscribed.body.data.id;
    const [delivery, none] = (await tenant.get(`/api/v1/webhooks/${webhook}/deliveries`)).body.data.deliveries;
    expect([delivery.eventType, none]).toEqual(['studio.video.completed', undefined]);
    const detail = (await tenant.get(`/api/v1/webhooks/${webhook}/deliveries/${delivery.id}`)).body.data;
    const { data } = JSON.parse(detail.requestBody);
    expect({ ...data, url: new URL(data.url).pathname }).toEqual({ ...video, url: new URL(url).pathname });
    // What has ended stays as it is.
    expect((await cancel(tenant, id)).body.data).toMatchObject(rest);
  });

  test('that fails costs nothing, says why, and is announced; one that is overloaded at first is made', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    const events = ['studio.video.failed'];
    const url = 'https://hooks.example.com/videos';
    const webhook = (await tenant.post('/api/v1/webhooks', { name: 'Videos', url, events })).body.data.id;
    const reasons: Record<string, string> = {
      'sandbox:fail': 'provider_error',
      'sandbox:refuse': 'content_policy',
      'sandbox:timeout': 'timeout',
      'sandbox:fail@minimax-video': 'provider_error',
    };
    const model = 'minimax-video';
    const ids = new Map<string, string>();
    for (const prompt of Object.keys(reasons)) ids.set(prompt, await start(tenant, { prompt, model }));
    const made = await start(tenant, { prompt: 'sandbox:overloaded sandbox:fail@runway-gen3', model });
    for (const [prompt, code] of Object.entries(reasons)) {
      const id = ids.get(prompt)!;
      expect(await ended(tenant, id)).toEqual({
        id,
        status: 'failed',
        error: { code, message: expect.any(String) },
        failedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      });
      const generation = (await tenant.get(`/api/studio/generations/${id}`)).body.data;
      expect(generation).toMatchObject({ status: 'failed', error: { code } });
      expect(generation).not.toHaveProperty('progress');
    }
    expect(await ended(tenant, made)).toMatchObject({ status: 'completed', duration: 5, creditsUsed: 25 });
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 25, reserved: 0 });
    const { deliveries } = (await tenant.get(`/api/v1/webhooks/${webhook}/deliveries`)).body.data;
    expect(deliveries.map(({ eventType }: { eventType: string }) => eventType)).toEqual(Array(4).fill(events[0]));
  });

  test.each([
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 'é'.repeat(1_001) }, 'prompt'],
    [{ prompt: 'x', duration: 4.9 }, 'duration'],
    [{ prompt: 'x', duration: '5' }, 'duration'],
    [{ prompt: 'x', duration: 7, model: 'minimax-video' }, 'duration'],
    [{ prompt: 'x', duration: 11 }, 'duration'],
    [{ prompt: 'x', model: 'flux-dev' }, 'model'],
    [{ prompt: 'x', aspectRatio: '1:1' }, 'aspectRatio'],
    [{ prompt: 'x', aspectRatio: '21:9', model: 'kling-1.5-pro' }, 'aspectRatio'],
    [{ prompt: 'x', aspectRatio: null }, 'aspectRatio'],
  ])('is refused where the request is wrong: %j', async (body, at) => {
    const { status, body: answer } = await product.api.post(path, body);
    expect([status, answer.error.details.errors.map((one: { path: string }) => one.path)]).toEqual([400, [at]]);
  });

  test('is found by its own id alone', async () => {
    for (const query of ['', '?id=', '?id=a&id=b']) {
      const { status, body } = await product.api.get(`${path}${query}`);
      expect([query, status, body.error.details.errors[0].path]).toEqual([query, 400, 'id']);
    }
    const tenant = await newTenant();
    const id = await start(tenant, { prompt: 'sandbox:slow=600' });
    const { data: image } = (await product.api.post('/api/studio/generate', { prompt: 'x' })).body;
    const unknown = 'vid_0199aaaabbbb7ccc8dddeeeeffff0000';
    const tries: [ApiClient, string][] = [
      ...['nonsense', unknown, image.id, id].map((one): [ApiClient, string] => [product.api, one]),
      [tenant, id.replace('vid_', 'gen_')],
    ];
    for (const [client, videoId] of tries) {
      const refused = { status: 404, body: { error: { code: 'not_found', details: { videoId } } } };
      expect(await client.get(`${path}?id=${videoId}`)).toMatchObject(refused);
      expect(await cancel(client, videoId)).toMatchObject(refused);
    }
    expect((await cancel(tenant, id)).body.data).toEqual({ id, status: 'cancelled' });
  });
});

describe('a video that begins with an image', () => {
  test('is answered when the image was fetched, and is made of its bytes', async () => {
    const tenant = await newTenant();
    const image = (await tenant.post('/api/studio/generate', { prompt: 'A boat' })).body.data.url;
    const { balance } = await creditsOf(tenant);
    const asked = { prompt: 'Waves', imageUrl: image };
    const key = { 'idempotency-key': 'image' };
    const first = await tenant.post(path, asked, key);
    expect(first).toMatchObject({ status: 200, body: { data: { status: 'processing', estimatedTime: 2 } } });
    const { id } = first.body.data;
    const again = await tenant.post(path, asked, key);
    expect([again.body.data, again.headers.get('idempotent-replayed')]).toEqual([first.body.data, 'true']);
    const other = await start(tenant, { prompt: 'Waves' });
    const [made, plain] = [await ended(tenant, id), await ended(tenant, other)];
    const [mp4, without] = [await fileAt(made.url), await fileAt(plain.url)];
    expect(measureMp4(mp4)).toMatchObject({ seconds: 5, width: 1024, height: 576, isWhole: true, isFastStart: true });
    expect(sha256(mp4)).not.toBe(sha256(without));
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 50, reserved: 0 });
    const { rows } = await product.database.pool.query(
      `select from file where kind = 'input' and title = $1 and (remove_at is null or remove_at > now())`,
      [id],
    );
    expect(rows).toEqual([]);
  });

  test('never becomes a job when the image is bad', async () => {
    const tenant = await newTenant();
    const url = 'https://hooks.example.com/videos';
    const webhook = (await tenant.post('/api/v1/webhooks', { name: 'Videos', url, events: ['*'] })).body.data.id;
    const music = (await tenant.post('/api/studio/generate-music', { prompt: 'A waltz' })).body.data.url;
    const before = await creditsOf(tenant);
    const bad = ['http://10.0.0.1/a.png', `${music}x`, music, 'data:image/png;base64,AAAA', 'nonsense'];
    for (const imageUrl of bad) {
      const { status, body } = await tenant.post(
        path,
        { prompt: 'Waves', imageUrl },
        { 'idempotency-key': imageUrl.slice(-9) },
      );
      expect([imageUrl, status, body.error.details.errors[0].path]).toEqual([imageUrl, 400, 'imageUrl']);
    }
    expect(await creditsOf(tenant)).toEqual(before);
    expect((await tenant.get(`/api/v1/webhooks/${webhook}/deliveries`)).body.data.deliveries).toEqual([]);
  });
});

describe('a video that is cancelled', () => {
  // One that is being stored is cancelled in `test/durability/generation-killed.test.ts`.
  test('gives the credits back at once, in every state that it may be in', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    const videos: { id: string; status: string }[] = [];
    const cancelTwice = async (id: string) => {
      const { data } = (await cancel(tenant, id)).body;
      expect((await cancel(tenant, id)).body.data.status).toBe(data.status);
      videos.push(data);
      return data.status;
    };
    const startHeld = async (what: string, isSo: (id: string) => Promise<boolean>) => {
      const hold = newHold(product.database);
      const id = await start(tenant, { prompt: `${hold.word} Waves, ${what}` });
      await until(`it is ${what}`, () => isSo(id));
      return { id, hold };
    };
    const created = await startHeld('created', async () => true);
    expect(await cancelTwice(created.id)).toBe('cancelled');
    const waiting = await startHeld('waiting', async (id) => /^Waits/.test(await temporal.detailsOf(id)));
    expect(await cancelTwice(waiting.id)).toBe('cancelled');
    const { id: due, hold } = await startHeld(
      'about to be computed',
      async (id) => (await read(tenant, id)).progress === 99,
    );
    await hold.release();
    await cancelTwice(due);
    const charged = () => videos.filter(({ status }) => status === 'completed').length * 25;
    expect(await creditsOf(tenant)).toEqual({ balance: balance - charged(), reserved: 0 });
    for (const { id, status } of videos) {
      const state = status === 'cancelled' ? 'CANCELLED' : 'COMPLETED';
      await until('its workflow is over', async () =>
        [state, 'COMPLETED', undefined].includes(await temporal.statusOf(id)),
      );
      expect((await read(tenant, id)).status).toBe(status);
    }
    expect(await creditsOf(tenant)).toEqual({ balance: balance - charged(), reserved: 0 });
  });

  test('by an operator in Temporal is cancelled here too, and one that is terminated has failed soon', async () => {
    const tenant = await newTenant();
    const before = await creditsOf(tenant);
    const [one, other] = [
      await start(tenant, { prompt: 'sandbox:slow=600' }),
      await start(tenant, { prompt: 'sandbox:slow=600' }),
    ];
    const details = await until('both wait', async () => {
      const found = [await temporal.detailsOf(one), await temporal.detailsOf(other)];
      return found.every((text) => /^Waits for/.test(text)) && found[0];
    });
    expect(details).toMatch(/^Waits for Runway \(\d+ %\), and asks again at .* Cancel/);
    await temporal.cancel(one);
    await temporal.terminate(other);
    expect(await ended(tenant, one)).toEqual({ id: one, status: 'cancelled' });
    expect(await ended(tenant, other)).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    expect(await creditsOf(tenant)).toEqual(before);
  });
});

test('a hundred and more waiting videos hold up no image of the same organization', async () => {
  const tenant = await newTenant('enterprise');
  const before = await creditsOf(tenant);
  // More than the activities that a worker executes at the same time.
  const ids: string[] = [];
  for (let group = 0; group < 11; group++) {
    const ten = Array.from({ length: 10 }, () => start(tenant, { prompt: 'sandbox:slow=600 Waves' }));
    ids.push(...(await Promise.all(ten)));
  }
  await until('all of them wait', async () =>
    (await Promise.all(ids.slice(-10).map((id) => temporal.detailsOf(id)))).every((text) => /^Waits for/.test(text)),
  );
  expect((await tenant.post('/api/studio/generate', { prompt: 'A lighthouse' })).status).toBe(200);
  expect((await creditsOf(tenant)).reserved).toBe(110 * 25);
  for (let at = 0; at < ids.length; at += 10) {
    await Promise.all(ids.slice(at, at + 10).map((id) => cancel(tenant, id)));
  }
  expect(await creditsOf(tenant)).toEqual({ balance: before.balance - 1, reserved: 0 });
});
