import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parseBuffer } from 'music-metadata';
import sharp from 'sharp';
import { generationIds, videoIds } from '../../../src/studio/core/ids.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { soonNoticed } from '../../crash/oracle.ts';
import { startFakeFal } from '../../fakes/fal.ts';
import type { FakeMedia, JobWish } from '../../fakes/media-server.ts';
import { startFakeRunway } from '../../fakes/runway.ts';
import { secrets } from '../../operator.ts';
import { openProduct, type Product } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { creditsOf, fileAt, pathOf } from '../../studio/files.ts';
import { measureMp4 } from '../../studio/mp4.ts';
import { viewStudio } from '../../temporal-studio.ts';
import { until } from '../../until.ts';

/** Generations of live keys, with the providers' wire formats on loopback: the product's own processes, the real SDKs. */

let product: Product;
let api: string;
let worker: ProductProcess;
let fal: FakeMedia & { keysUrl: string };
let runway: FakeMedia;

beforeAll(async () => {
  [fal, runway] = await Promise.all([startFakeFal(), startFakeRunway()]);
  product = await openProduct({
    entryPoint: soonNoticed,
    env: {
      ...secrets,
      FAL_KEY: fal.apiKey,
      FAL_QUEUE_URL: fal.origin,
      FAL_JWKS_URL: fal.keysUrl,
      RUNWAY_API_KEY: runway.apiKey,
      RUNWAY_BASE_URL: `${runway.origin}/`,
      // Outputs are on this machine; reports go to an address that the fake replaces.
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      PUBLIC_URL: 'https://atelier.example',
    },
  });
  const [server, started] = await Promise.all([product.start(['api', 'housekeeping']), product.start(['generation'])]);
  ({ api } = server);
  worker = started;
  fal.hookOrigin = api;
});
beforeEach(() => {
  fal.reset();
  runway.reset();
});
afterAll(async () => {
  await product?.close();
  await Promise.all([fal, runway].map((fake) => fake?.close()));
});

const newTenant = async () => apiClient(api, (await product.createTenant({ plan: 'pro' })).liveKey);
const generate = (on: ApiClient, body: object = {}) =>
  on.post('/api/studio/generate', { prompt: 'A red bicycle', model: 'flux-dev', ...body });
const submits = ({ journal }: FakeMedia) => journal.filter(({ method }) => method === 'POST');

const startVideo = async (on: ApiClient, body: object): Promise<string> => {
  const { status, body: answer } = await on.post('/api/studio/generate-video', { prompt: 'Waves', ...body });
  expect(status).toBe(200);
  return answer.data.id;
};
const readVideo = async (on: ApiClient, id: string) => (await on.get(`/api/studio/generate-video?id=${id}`)).body.data;
const endOf = (on: ApiClient, id: string) =>
  until('the video ends', async () => {
    await sleep(100);
    const video = await readVideo(on, id);
    return video.status !== 'processing' && video;
  });

/** Files that belong to a tenant for good, and those of its generations that have ended without one. */
async function filesOf(on: ApiClient) {
  const { items, total } = (await on.get('/api/studio/history')).body.data;
  for (const { url } of items) expect((await fileAt(url)).length).toBeGreaterThan(0);
  return total;
}

describe('an image, work on it, and music', () => {
  test('are made by fal, stored by us, and paid once', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    const asked = { negativePrompt: 'fog', aspectRatio: '16:9', quality: 'high', seed: 5 };
    const image = (await generate(tenant, asked)).body.data;
    expect(image).toMatchObject({ width: 1_024, height: 576, seed: 5, model: 'flux-dev', creditsUsed: 2 });
    expect(fal.jobs).toMatchObject([
      {
        endpoint: 'fal-ai/flux/dev',
        webhook: `https://atelier.example/hooks/fal/${generationIds.parse(image.id)}`,
        input: { prompt: 'A red bicycle\nAvoid: fog', seed: 5, num_inference_steps: 40 },
      },
    ]);
    // What the provider gave, as it gave it.
    expect(new URL(image.url).pathname).toMatch(/\.jpg$/);
    expect(await sharp(pathOf(image.url)).metadata()).toMatchObject({
      format: 'jpeg',
      width: 1_024,
      height: 576,
    });

    const larger = (await tenant.post('/api/studio/upscale', { imageUrl: image.url })).body.data;
    expect(larger).toMatchObject({ originalWidth: 1_024, newWidth: 2_048, newHeight: 1_152, scale: 2 });
    const cutOut = (await tenant.post('/api/studio/remove-bg', { imageUrl: image.url })).body.data;
    expect(cutOut).toMatchObject({ format: 'png', hasTransparency: true });
    for (const { url } of [larger, cutOut]) {
      expect(await sharp(pathOf(url)).metadata()).toMatchObject({ format: 'png' });
    }
    const asMusic = { prompt: 'A waltz', duration: 12, bpm: 90 };
    const music = (await tenant.post('/api/studio/generate-music', asMusic)).body.data;
    expect(fal.jobs.at(-1)).toMatchObject({ input: { prompt: 'A waltz\nAt 90 BPM.', seconds_total: 12 } });
    const mp3 = await parseBuffer(await fileAt(music.url), { mimeType: 'audio/mpeg' }, { duration: true });
    expect(mp3.format).toMatchObject({ codec: 'MPEG 1 Layer 3', sampleRate: 44_100 });
    expect(Math.abs(music.duration - 12)).toBeLessThan(0.1);

    const used = [image, larger, cutOut, music].reduce((sum, { creditsUsed }) => sum + creditsUsed, 0);
    expect(await creditsOf(tenant)).toEqual({ balance: balance - used, reserved: 0 });
    expect(submits(fal)).toHaveLength(4);
    expect(await filesOf(tenant)).toBe(2);
  });

  const busy = { status: 429, headers: { 'retry-after': '2' }, body: { detail: 'Too many requests' } };
  const faults: [string, JobWish, { reason: string | null; sent: number; jobs: number }][] = [
    ['lost the answer to the submit', { submit: 'lose the answer', takesMs: 500 }, { reason: null, sent: 1, jobs: 1 }],
    ['was busy at first', { submit: { fail: busy } }, { reason: null, sent: 2, jobs: 1 }],
    [
      'hid a refusal in COMPLETED',
      { fail: 'content_policy_violation' },
      { reason: 'content_policy', sent: 1, jobs: 1 },
    ],
    ['could not use the input', { fail: 'value_error' }, { reason: 'invalid_input', sent: 1, jobs: 1 }],
    ['made a damaged file', { output: 'cut' }, { reason: 'provider_error', sent: 1, jobs: 1 }],
    ['made a file of another type', { output: 'another type' }, { reason: 'provider_error', sent: 1, jobs: 1 }],
    ['lost the file', { output: 'missing' }, { reason: 'provider_error', sent: 1, jobs: 1 }],
    ['finished without a file', { withoutFile: 1e9 }, { reason: 'provider_error', sent: 1, jobs: 1 }],
    ['had the file a moment later', { withoutFile: 3 }, { reason: null, sent: 1, jobs: 1 }],
    ['answered the submit with a page', { submit: 'page', takesMs: 500 }, { reason: null, sent: 1, jobs: 1 }],
  ];
  test('are submitted once and paid once or not at all, whatever goes wrong', async () => {
    await Promise.all(
      faults.map(async ([name, wish, { reason, sent, jobs }], index) => {
        const tenant = await newTenant();
        const { balance } = await creditsOf(tenant);
        // The prompt of each configures its fate.
        const prompt = `Fault ${index}`;
        fal.meet(prompt, wish);
        const { status, body } = await generate(tenant, { prompt });
        const outcome = { name, status, reason: body.error?.details.reason ?? null };
        expect(outcome).toEqual({ name, status: reason === null ? 200 : 500, reason });
        const mine = ({ body }: { body: { prompt?: string } }) => body?.prompt === prompt;
        expect({ name, sent: submits(fal).filter(mine).length }).toEqual({ name, sent });
        expect({ name, jobs: fal.jobs.filter(({ input }) => input.prompt === prompt).length }).toEqual({ name, jobs });
        const paid = reason === null ? 1 : 0;
        expect({ name, ...(await creditsOf(tenant)) }).toEqual({ name, balance: balance - paid, reserved: 0 });
        expect({ name, files: await filesOf(tenant) }).toEqual({ name, files: paid });
      }),
    );
    const [first, second] = submits(fal).filter(({ body }) => body.prompt === 'Fault 1');
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(1_900);
    // A caller that gets a failure gets no address and no key.
    const log = JSON.stringify(product.processes.map(({ log: lines, errors }) => [lines, errors]));
    expect(log).not.toContain(fal.apiKey);
  });
});

describe('a video', () => {
  test('outlives its worker: what Runway has goes on, and what fal was handed in that moment is found by its report', async () => {
    const tenant = await newTenant();
    const { balance } = await creditsOf(tenant);
    // Longer than the rest takes, however busy the machine is.
    runway.next({ takesMs: 600_000 });
    const ofRunway = await startVideo(tenant, { duration: 6.5, aspectRatio: '9:16' });
    await until('it is known how Runway calls it', async () => {
      const { rows } = await product.database.pool.query('select upstream_id from generation where id = $1', [
        videoIds.parse(ofRunway),
      ]);
      return rows[0].upstream_id !== null;
    });
    fal.next({ takesMs: Number.POSITIVE_INFINITY });
    // Dies when fal has the job, and before anybody wrote down how fal calls it.
    await worker.arm('generation.submitted');
    const ofFal = await startVideo(tenant, { model: 'kling-1.5-pro', duration: 7 });
    await worker.ended;
    worker = await product.start(['generation']);

    expect((await readVideo(tenant, ofFal)).status).toBe('processing');
    fal.finish(fal.jobs[0]!);
    expect(await endOf(tenant, ofFal)).toMatchObject({ status: 'completed', duration: 10, creditsUsed: 35 });

    await until('progress is reported', async () => {
      await sleep(200);
      return (await readVideo(tenant, ofRunway)).progress > 0;
    });
    runway.finish(runway.jobs[0]!);
    const video = await endOf(tenant, ofRunway);
    // Seven seconds were made, and no more than those asked for are paid.
    expect(video).toMatchObject({ status: 'completed', duration: 7, width: 192, height: 320, creditsUsed: 35 });
    expect(measureMp4(await fileAt(video.url))).toMatchObject({ seconds: 7, isWhole: true });
    expect(runway.jobs).toMatchObject([
      {
        endpoint: 'text_to_video',
        input: { model: 'gen4.5', promptText: 'Waves', ratio: '720:1280', duration: 7 },
      },
    ]);

    expect(await creditsOf(tenant)).toEqual({ balance: balance - 70, reserved: 0 });
    expect([submits(runway).length, submits(fal).length]).toEqual([1, 1]);
    expect(await filesOf(tenant)).toBe(2);
  });

  test('that Runway finishes without a file is looked at three times more within 30 seconds, and has failed', async () => {
    const tenant = await newTenant();
    const before = await creditsOf(tenant);
    runway.next({ withoutFile: 1e9 });
    const id = await startVideo(tenant, { duration: 5 });
    const error = { code: 'provider_error', message: 'Runway finished the job and gave no file.' };
    expect(await endOf(tenant, id)).toMatchObject({ id, status: 'failed', error });
    // Each look reads the task for its status and for its file.
    const looks = runway.journal.filter(({ method }) => method === 'GET');
    expect(looks.length).toBe(8);
    expect(looks.at(-1)!.at - looks[0]!.at).toBeLessThan(60_000);
    expect(await creditsOf(tenant)).toEqual(before);
  });

  test('whose worker died before its submission is never submitted, and its credits come back', async () => {
    const tenant = await newTenant();
    const before = await creditsOf(tenant);
    await worker.arm('generation.submitting');
    const id = await startVideo(tenant, { model: 'kling-1.5-pro' });
    await worker.ended;
    worker = await product.start(['generation']);
    const temporal = await viewStudio();
    await until('another worker has looked at it', async () => /did not confirm/.test(await temporal.detailsOf(id)));
    await temporal.close();
    // What died may have died a moment later, when fal had it.
    expect([submits(fal).length, (await readVideo(tenant, id)).status]).toEqual([0, 'processing']);
    await tenant.post(`/api/studio/generate-video/${id}/cancel`);
    expect(await readVideo(tenant, id)).toEqual({ id, status: 'cancelled' });
    expect(await creditsOf(tenant)).toEqual(before);
  });

  test('of fal ends when its report comes, and a report that is repeated or forged changes nothing', async () => {
    const tenant = await newTenant();
    const imageUrl = (await generate(tenant)).body.data.url;
    fal.reset();
    const { balance } = await creditsOf(tenant);
    fal.next({ takesMs: Number.POSITIVE_INFINITY });
    const id = await startVideo(tenant, { model: 'kling-1.5-pro', duration: 7, imageUrl });
    const job = await until('fal has it', async () => fal.jobs[0]);
    expect(job).toMatchObject({ endpoint: 'fal-ai/kling-video/v1.5/pro/image-to-video', input: { duration: '10' } });
    // The bytes of the image, and no address.
    const bytes = (await fileAt(imageUrl)).toString('base64');
    expect(job.input.image_url === `data:image/jpeg;base64,${bytes}`).toBe(true);
    const hook = `${api}/hooks/fal/${videoIds.parse(id)}`;
    const forged = { 'x-fal-webhook-request-id': 'another', 'x-fal-webhook-user-id': 'user-1' };
    const timestamp = String(Math.floor(Date.now() / 1_000));
    for (const [headers, body] of [
      [{}, '{}'],
      [{ ...forged, 'x-fal-webhook-timestamp': timestamp, 'x-fal-webhook-signature': 'a'.repeat(128) }, '{}'],
      [
        { ...forged, 'x-fal-webhook-timestamp': timestamp, 'x-fal-webhook-signature': 'a'.repeat(128) },
        'x'.repeat(2e6),
      ],
    ] as const) {
      const { status } = await fetch(hook, { method: 'POST', headers, body });
      expect([401, 413]).toContain(status);
    }
    fal.finish(job);
    const video = await endOf(tenant, id);
    expect(video).toMatchObject({ status: 'completed', duration: 10, creditsUsed: 35 });
    // Signed well: for a generation that is over, and for one that does not exist.
    expect(await fal.report(job)).toBe(200);
    const nobodys = { ...job, webhook: job.webhook!.replace(/[^/]+$/, '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000') };
    expect(await fal.report(nobodys)).toBe(200);
    expect(await readVideo(tenant, id)).toMatchObject({ status: 'completed', creditsUsed: 35 });
    expect(await creditsOf(tenant)).toEqual({ balance: balance - 35, reserved: 0 });
    expect(submits(fal)).toHaveLength(1);
  });

  test('that is cancelled is given up at its provider; an unconfirmed one is not sent again', async () => {
    const tenant = await newTenant();
    const before = await creditsOf(tenant);
    const forEver = { takesMs: Number.POSITIVE_INFINITY };
    fal.next(forEver);
    runway.next(forEver);
    const taken = [await startVideo(tenant, { model: 'luma-dream-machine' }), await startVideo(tenant, {})];
    await until('both have them', async () => fal.jobs.length === 1 && runway.jobs.length === 1);
    fal.next({ submit: { fail: { status: 500, body: {} } } });
    const lost = await startVideo(tenant, { model: 'minimax-video', duration: 6 });
    await until('it is sent', async () => submits(fal).length === 2);
    await sleep(1_000);
    expect((await readVideo(tenant, lost)).status).toBe('processing');
    for (const id of [...taken, lost]) {
      expect((await tenant.post(`/api/studio/generate-video/${id}/cancel`)).body.data).toEqual({
        id,
        status: 'cancelled',
      });
    }
    await until('they are given up', async () => [fal, runway].every(({ jobs }) => jobs[0]!.state === 'cancelled'));
    expect(await creditsOf(tenant)).toEqual(before);
    expect([submits(fal).length, submits(runway).length]).toEqual([2, 1]);
  });
});

test('a test key reaches no provider', async () => {
  const sandbox = apiClient(api, (await product.createTenant()).testKey);
  expect((await generate(sandbox)).status).toBe(200);
  // The generations of others may still be looked at, or given up.
  expect([...submits(fal), ...submits(runway)]).toEqual([]);
});
