import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseBuffer } from 'music-metadata';
import sharp from 'sharp';
import { startFakeFal } from '../../../test/fakes/fal.ts';
import { pictureFile } from '../../../test/fakes/media-files.ts';
import type { FakeMedia } from '../../../test/fakes/media-server.ts';
import { startFakeRunway } from '../../../test/fakes/runway.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { Egress } from '../../platform/egress/egress.ts';
import { egressRules } from '../../platform/egress/egress-destination.ts';
import { openLog } from '../../platform/observability/log.ts';
import { type MediaKind, mediaModels } from '../core/media/models.ts';
import type { GenerationRequest } from '../core/media/requests.ts';
import { renderMedia } from '../sandbox/media/rendering.ts';
import { sandboxMediaModel } from '../sandbox/media-model.ts';
import { examineImage } from './images/examination.ts';
import { shrinkImage } from './images/shrinking.ts';
import { falHost } from './live/fal.ts';
import { finishOutput } from './live/finishing.ts';
import { liveMediaModel } from './live/media-model.ts';
import { runwayHost } from './live/runway.ts';
import { readVideoFile } from './live/video-file.ts';
import type { JobImage, MadeMedia, MediaJob, MediaModel } from './media-ports.ts';

/** What holds of every implementation of media, the sandbox's and the live ones over their providers' wire formats. */

let work: BoundedWork;
let folder: string;
let egress: Egress;
let fal: FakeMedia;
let runway: FakeMedia;
const models = new Map<string, MediaModel>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'media-models-'));
  work = new BoundedWork({
    log: openLog('error', 'test'),
    tasks: [renderMedia.image, finishOutput, examineImage, shrinkImage],
  });
  egress = new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.0/8'] }));
  [fal, runway] = await Promise.all([startFakeFal(), startFakeRunway()]);
  const options = { models: mediaModels, egress, work };
  const host = ({ apiKey, origin }: FakeMedia) => ({ apiKey, baseUrl: origin, timeoutMs: 30_000 });
  models.set('sandbox', sandboxMediaModel(work));
  models.set('fal', liveMediaModel(falHost(host(fal)), options));
  models.set('runway', liveMediaModel(runwayHost(host(runway)), options));
});
afterAll(async () => {
  work.close();
  await Promise.all([egress.close(), fal.close(), runway.close(), rm(folder, { recursive: true })]);
});

const requests: Record<MediaKind, GenerationRequest> = {
  image: {
    kind: 'image',
    prompt: 'a boat',
    negativePrompt: 'fog',
    model: 'flux-dev',
    aspectRatio: '16:9',
    quality: 'standard',
    seed: null,
  },
  video: { kind: 'video', prompt: 'waves', model: 'kling-1.5-pro', duration: 5, aspectRatio: '16:9' },
  music: { kind: 'music', prompt: 'a waltz', model: 'musicgen', duration: 10, bpm: 90 },
  upscale: { kind: 'upscale', scale: 2 },
  background_removal: { kind: 'background_removal' },
};
const runwayRequest = { ...requests.video, model: 'runway-gen3' } as GenerationRequest;

async function imageOf(width: number, height: number, query = ''): Promise<JobImage> {
  const path = join(folder, `given-${width}`);
  await writeFile(path, (await pictureFile({ width, height }, 'png')).bytes);
  const sha256 = 'ab'.repeat(32);
  return { type: 'png', width, height, sha256, query, copyTo: (to) => copyFile(path, to) };
}

const call = (attempt = 1) => ({ tenantKey: tenantKeyOf('one'), attempt, signal: new AbortController().signal });

async function jobOf(request: GenerationRequest, prompt?: string): Promise<MediaJob> {
  const worksOnImage = request.kind === 'upscale' || request.kind === 'background_removal';
  const image = worksOnImage ? await imageOf(40, 20, prompt) : null;
  const asked = prompt !== undefined && 'prompt' in request ? { ...request, prompt } : request;
  // Old enough for the sandbox, whose videos take two seconds.
  return { id: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000', request: asked, image, seed: 7, ageMs: 3_000 };
}

async function make(model: MediaModel, job: MediaJob): Promise<MadeMedia> {
  const upstreamId = await model.submit(job, call());
  expect(upstreamId.length).toBeLessThanOrEqual(200);
  expect(await model.poll(job, upstreamId, call())).toEqual({ kind: 'ready' });
  return model.fetchFile(job, upstreamId, call());
}

/** What the bytes of a file are, whatever was said of it. */
async function measured({ type, path }: MadeMedia) {
  if (type === 'mp4') return readVideoFile(path);
  const bytes = await readFile(path);
  if (type === 'mp3') {
    const { format } = await parseBuffer(bytes, { mimeType: 'audio/mpeg' }, { duration: true });
    return { seconds: format.duration, codec: format.codec };
  }
  const { width, height, format, hasAlpha } = await sharp(path).metadata();
  await sharp(path).stats();
  return { width, height, format: format === 'jpeg' ? 'jpg' : format, hasAlpha };
}

const cases: [name: string, request: GenerationRequest][] = [
  ...Object.values(requests).map((request): [string, GenerationRequest] => ['sandbox', request]),
  ...Object.values(requests).map((request): [string, GenerationRequest] => ['fal', request]),
  ['runway', runwayRequest],
];

describe.each(cases)('%s: $kind', (name, request) => {
  test('makes a file that is what it says', async () => {
    const made = await make(models.get(name)!, await jobOf(request));
    const found = await measured(made);
    switch (request.kind) {
      case 'image':
        expect(made).toMatchObject({ size: { width: 1_024, height: 576 }, seconds: null, hasTransparency: null });
        expect(found).toMatchObject({ ...made.size, format: made.type });
        break;
      case 'upscale':
        expect(made).toMatchObject({ type: 'png', size: { width: 80, height: 40 }, seconds: null });
        expect(found).toMatchObject({ width: 80, height: 40, format: 'png' });
        break;
      case 'background_removal':
        expect(made).toMatchObject({ type: 'png', size: { width: 40, height: 20 } });
        expect(found).toMatchObject({ width: 40, height: 20, format: 'png' });
        expect(typeof made.hasTransparency).toBe('boolean');
        break;
      case 'video':
        expect(made).toMatchObject({ type: 'mp4', hasTransparency: null });
        expect(found).toEqual({ ...made.size, seconds: made.seconds });
        expect(made.seconds).toBeCloseTo(5, 2);
        break;
      case 'music':
        expect(made).toMatchObject({ type: 'mp3', size: null });
        expect(found).toMatchObject({ seconds: made.seconds, codec: 'MPEG 1 Layer 3' });
        expect(Math.abs(made.seconds! - 10)).toBeLessThan(0.1);
    }
    await made.discard();
    expect(existsSync(made.path)).toBe(false);
  });

  test('is asked again without harm, and cancelled at any time', async () => {
    const [model, job] = [models.get(name)!, await jobOf(request)];
    const upstreamId = await model.submit(job, call());
    for (const _ of [1, 2]) expect(await model.poll(job, upstreamId, call())).toEqual({ kind: 'ready' });
    const [one, other] = [
      await model.fetchFile(job, upstreamId, call()),
      await model.fetchFile(job, upstreamId, call()),
    ];
    expect((await readFile(one.path)).equals(await readFile(other.path))).toBe(true);
    await Promise.all([one.discard(), other.discard()]);
    for (const _ of [1, 2]) await model.cancel(job, upstreamId, call());
  });

  test('says how long it takes, and nothing to a caller who left', async () => {
    const [model, job] = [models.get(name)!, await jobOf(request)];
    expect(model.expectation(request).ms).toBeGreaterThanOrEqual(name === 'sandbox' ? 0 : 1_000);
    const reason = new Error('left');
    const left = { ...call(), signal: AbortSignal.abort(reason) };
    await expect(model.poll(job, 'any', left)).rejects.toBe(reason);
    await expect(model.fetchFile(job, 'any', left)).rejects.toBe(reason);
  });

  test('refuses content for good', async () => {
    const [model, job] = [models.get(name)!, await jobOf(request, 'sandbox:refuse')];
    fal.next({ fail: 'content_policy_violation' });
    runway.next({ fail: 'SAFETY.INPUT.TEXT' });
    const failure = { name: 'ProviderFailure', kind: 'content_refused', retryable: false };
    await expect(make(model, job)).rejects.toMatchObject(failure);
    fal.reset();
    runway.reset();
  });

  test('is overloaded at first, and then is not', async () => {
    const [model, job] = [models.get(name)!, await jobOf(request, 'sandbox:overloaded')];
    const busy = { status: 429, headers: { 'retry-after': '3' }, body: { detail: 'Too many', error: 'Too many' } };
    for (const fake of [fal, runway]) fake.next({ submit: { fail: busy } });
    const failure = await make(model, job).catch((error) => error);
    expect(failure).toMatchObject({ name: 'ProviderFailure', retryable: true });
    if (name !== 'sandbox') expect(failure).toMatchObject({ kind: 'rate_limited', retryAfterMs: 3_000 });
    const upstreamId = await model.submit(job, call(3));
    expect(await model.poll(job, upstreamId, call(3))).toEqual({ kind: 'ready' });
    for (const fake of [fal, runway]) fake.reset();
  });
});

test('an image is given as bytes, and made smaller where it is too long for the provider', async () => {
  const side = 1_600;
  const path = join(folder, 'noise.png');
  // Noise is what no format makes smaller.
  const raw = { width: side, height: side, channels: 3 } as const;
  await sharp(randomBytes(side * side * 3), { raw })
    .png()
    .toFile(path);
  const image: JobImage = { ...(await imageOf(side, side)), copyTo: (to) => copyFile(path, to) };
  const sent: Record<string, string> = {};
  for (const [name, fake, request, field] of [
    ['fal', fal, requests.video, 'image_url'],
    ['runway', runway, runwayRequest, 'promptImage'],
  ] as const) {
    await models.get(name)!.submit({ ...(await jobOf(request)), image }, call());
    const { endpoint, input } = fake.jobs.at(-1)!;
    expect(endpoint).toMatch(/image.to.video$/);
    sent[name] = input[field];
  }
  expect(sent.fal).toBe(`data:image/png;base64,${(await readFile(path)).toString('base64')}`);
  expect(sent.runway).toMatch(/^data:image\/jpeg;base64,/);
  expect(sent.runway!.length).toBeLessThanOrEqual(5 * 1024 * 1024);
  const shrunk = join(folder, 'shrunk.jpg');
  await writeFile(shrunk, Buffer.from(sent.runway!.split(',')[1]!, 'base64'));
  const { width, height } = await sharp(shrunk).metadata();
  expect([width, width === height]).toEqual([expect.any(Number), true]);
});
