import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pictureFile } from '../../../test/fakes/media-files.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { openLog } from '../../platform/observability/log.ts';
import type { ImageRequest, PromptedRequest, VideoRequest } from '../core/media/requests.ts';
import type { JobImage, MadeMedia, MediaStatus } from '../media/media-ports.ts';
import { renderMedia } from './media/rendering.ts';
import { sandboxMediaModel } from './media-model.ts';

let work: BoundedWork;
beforeAll(() => {
  work = new BoundedWork({ log: openLog('error', 'test'), tasks: [renderMedia.image] });
});
afterAll(() => work.close());

const image = (prompt: string): ImageRequest => ({
  kind: 'image',
  prompt,
  negativePrompt: null,
  model: 'flux-dev',
  aspectRatio: '16:9',
  quality: 'standard',
  seed: null,
});
const video: VideoRequest = { kind: 'video', prompt: 'waves', model: 'runway-gen3', duration: 5, aspectRatio: '16:9' };

/** Where the job stands, with the file once it is made. */
async function advance(
  request: PromptedRequest,
  { ageMs = 0, attempt = 1, seed = 7, signal = new AbortController().signal } = {},
): Promise<Progress> {
  const [model, job] = [sandboxMediaModel(work), { id: 'any', request, image: null, seed, ageMs }];
  const call = { tenantKey: tenantKeyOf('one'), attempt, signal };
  const upstreamId = await model.submit(job, call);
  const status = await model.poll(job, upstreamId, call);
  return status.kind === 'ready' ? { kind: 'made', made: await model.fetchFile(job, upstreamId, call) } : status;
}
type Progress = MediaStatus | { kind: 'made'; made: MadeMedia };

/** The SHA-256 of what was made, which is then discarded. */
async function digestOf(progress: Progress): Promise<string> {
  if (progress.kind !== 'made') throw new Error('It is not made yet.');
  const { path, discard } = progress.made;
  const digest = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  await discard();
  expect(existsSync(path)).toBe(false);
  return digest;
}

test('a picture is made at once, of the size of its ratio, and is the same for the same seed', async () => {
  const progress = await advance(image('a boat'));
  expect(progress).toMatchObject({
    kind: 'made',
    made: { type: 'png', size: { width: 1024, height: 576 }, seconds: null },
  });
  const digest = await digestOf(progress);
  expect(await digestOf(await advance({ ...image('a boat'), seed: 7 }))).toBe(digest);
  expect(await digestOf(await advance(image('a boat'), { seed: 8 }))).not.toBe(digest);
});

test('what is slow is waited for, and a video for two seconds at least', async () => {
  expect(await advance(image('sandbox:slow=3 a boat'), { ageMs: 1_000 })).toEqual({
    kind: 'working',
    askAfterMs: 2_000,
  });
  expect(await advance(video, { ageMs: 500 })).toEqual({ kind: 'working', askAfterMs: 1_500 });
  await digestOf(await advance(image('sandbox:slow=3 a boat'), { ageMs: 3_000 }));
});

test.each([
  ['sandbox:fail', 'unavailable'],
  ['sandbox:refuse', 'content_refused'],
  ['sandbox:timeout', 'timeout'],
  ['sandbox:fail@flux-dev', 'unavailable'],
])('%s fails for good as %s', async (prompt, kind) => {
  await expect(advance(image(prompt))).rejects.toMatchObject({ name: 'ProviderFailure', kind, retryable: false });
});

test('an overloaded sandbox asks to be tried again, and then does what else the prompt says', async () => {
  const overloaded = { name: 'ProviderFailure', kind: 'overloaded', retryable: true };
  for (const attempt of [1, 2]) {
    await expect(advance(image('sandbox:overloaded'), { attempt })).rejects.toMatchObject(overloaded);
  }
  await digestOf(await advance(image('sandbox:overloaded'), { attempt: 3 }));
  const failing = advance(image('sandbox:overloaded sandbox:fail'), { attempt: 3 });
  await expect(failing).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a job that was given up is not begun', async () => {
  const reason = new Error('given up');
  await expect(advance(image('a boat'), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test('an upscale that needs too much memory says so, and is no timeout', async () => {
  const run = work.run.bind(work);
  const limited: typeof run = (task, ...rest) => run(Object.assign({}, task, { memoryMb: 1 }), ...rest);
  const model = sandboxMediaModel(Object.assign(Object.create(work), { run: limited }));
  const size = { width: 1_000, height: 1_000 };
  const { bytes } = await pictureFile(size, 'png');
  const picture: JobImage = {
    type: 'png',
    width: size.width,
    height: size.height,
    sha256: '',
    query: '',
    copyTo: (path) => writeFile(path, bytes),
  };
  const request = { kind: 'upscale', scale: 4 } as const;
  const job = { id: 'any', request, image: picture, seed: 7, ageMs: 0 };
  const call = { tenantKey: tenantKeyOf('one'), attempt: 1, signal: new AbortController().signal };
  await expect(model.fetchFile(job, 'any', call)).rejects.toMatchObject({
    name: 'ProviderFailure',
    kind: 'unavailable',
    retryable: false,
    message: 'The sandbox gave up the generation. It needs too much memory.',
  });
});
