import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { isHeld } from '../../platform/parts/holds.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { openWorkFolder } from '../../platform/work-folder.ts';
import { sizes } from '../core/media/aspect-ratios.ts';
import type { Quality } from '../core/media/models.ts';
import { canonicalRequest, type GenerationRequest, modelOf, pixelLimits } from '../core/media/requests.ts';
import { isStillOverloaded, readSandboxWords, type SandboxWords } from '../core/sandbox-words.ts';
import { ImageUnusable, type MadeMedia, type MediaJob, type MediaModel } from '../media/media-ports.ts';
import type { Rendering } from './media/render-media.ts';
import { renderMedia } from './media/rendering.ts';
import { StartedFiles } from './started-files.ts';
import { tooCostly } from './too-costly.ts';
import { VideoQueue } from './video-queue.ts';

/** A better quality shows more, at the same size. */
const shapes: Record<Quality, number> = { standard: 12, high: 24, ultra: 40 };

/** How long a rendering may wait for a slot. */
const waitMs = 60_000;

function requestedFailure(words: SandboxWords, model: string): ProviderFailure | undefined {
  const final = { retryable: false };
  switch (words.failure) {
    case 'fail':
      return new ProviderFailure('unavailable', 'The sandbox model failed (sandbox:fail).', final);
    case 'refuse':
      return new ProviderFailure('content_refused', 'The sandbox model refused the content (sandbox:refuse).', final);
    case 'timeout':
      return new ProviderFailure('timeout', 'The sandbox model did not finish in time (sandbox:timeout).', final);
    case 'fail_model':
      return new ProviderFailure('unavailable', `The sandbox model ${model} failed (sandbox:fail@${model}).`, final);
    case undefined:
      return undefined;
  }
}

/** The same digest for the same request, with the seed that was reported for it, and the same image. */
const digestOf = ({ request, seed, image }: MediaJob): string => {
  const seeded = request.kind === 'image' ? { ...request, seed } : request;
  return createHash('sha256').update(canonicalRequest(seeded, image?.sha256)).digest('hex');
};

/** The text with words for the sandbox: the prompt, or without a prompt the address of the image. */
const wordsIn = ({ request, image }: Pick<MediaJob, 'request' | 'image'>): SandboxWords =>
  readSandboxWords('prompt' in request ? request.prompt : (image?.query ?? ''), modelOf(request));

/** The minimum duration of a video, similar to that of providers. */
const leastVideoSeconds = 2;

/** Videos that one process computes or has waiting at the same time. The others wait in their workflows. */
const maxConcurrentVideos = 4;

const types = { image: 'png', upscale: 'png', background_removal: 'png', video: 'mp4', music: 'mp3' } as const;

/** @param input a copy of the job's image */
function renderingOf(job: MediaJob, input: string | null, output: string): Rendering {
  const { request } = job;
  const maxPixels = pixelLimits.input;
  switch (request.kind) {
    case 'image': {
      const { kind, aspectRatio, quality } = request;
      return { kind, digest: digestOf(job), size: sizes[aspectRatio], shapes: shapes[quality], output };
    }
    case 'upscale':
      return { kind: request.kind, input: given(input), maxPixels, scale: request.scale, output };
    case 'background_removal':
      return { kind: request.kind, input: given(input), maxPixels, output };
    case 'video': {
      const { kind, aspectRatio, duration } = request;
      return { kind, digest: digestOf(job), size: sizes[aspectRatio], seconds: duration, input, maxPixels, output };
    }
    case 'music': {
      const { kind, duration, bpm } = request;
      return { kind, digest: digestOf(job), seconds: duration, bpm, output };
    }
  }
}

function given(input: string | null): string {
  if (input === null) throw new Error('The job has no image.');
  return input;
}

async function render(work: BoundedWork, tenantKey: TenantKey, job: MediaJob): Promise<MadeMedia> {
  const type = types[job.request.kind];
  const { path: folder, discard } = await openWorkFolder();
  try {
    const path = join(folder, `made.${type}`);
    const input = job.image && join(folder, 'given');
    if (input) await job.image!.copyTo(input);
    const task = renderMedia[job.request.kind];
    const rendered = await work.run(task, tenantKey, renderingOf(job, input, path), { waitMs });
    if ('refused' in rendered) throw new ImageUnusable('The image is damaged.');
    const { size = null, seconds = null, hasTransparency = null } = rendered.made;
    return { type, path, size, seconds, hasTransparency, discard };
  } catch (error) {
    await discard();
    throw error instanceof WorkTooCostly ? tooCostly('The sandbox gave up the generation.', error) : error;
  }
}

/** A held request is looked at this often, in milliseconds. */
const heldPollMs = 500;

/** When the request is answered, in milliseconds from its creation. */
const dueMs = ({ kind }: GenerationRequest, { slowSeconds }: SandboxWords): number =>
  Math.max(slowSeconds, kind === 'video' ? leastVideoSeconds : 0) * 1_000;

/** A picture takes some milliseconds. Work on images and music may take longer. */
const isInstant = ({ kind }: GenerationRequest, { slowSeconds, hold, overloaded, failure }: SandboxWords): boolean =>
  kind === 'image' && slowSeconds === 0 && hold === undefined && !overloaded && failure === undefined;

/**
 * Media without a provider: files that are computed from the request, so that equal requests have equal files. Words in the
 * prompt, or in the address of the image, take effect in this order: slow, overloaded, then a failure.
 */
export function sandboxMediaModel(work: BoundedWork): MediaModel {
  const videos = new VideoQueue(maxConcurrentVideos);
  const begun = new StartedFiles();
  return {
    repeatable: true,

    expectation(request) {
      const words = wordsIn({ request, image: null });
      return { ms: dueMs(request, words), reportsProgress: false, isInstant: isInstant(request, words) };
    },

    submit: async ({ id }) => id,

    begin(job, { tenantKey }) {
      begun.keep(job.id, () => render(work, tenantKey, job));
    },

    async poll(job, _, { tenantKey, attempt, signal }) {
      signal.throwIfAborted();
      const { request, ageMs } = job;
      const words = wordsIn(job);
      if (isHeld(words.hold)) return { kind: 'working', askAfterMs: heldPollMs };
      const left = dueMs(request, words) - ageMs;
      if (left > 0) return { kind: 'working', askAfterMs: Math.ceil(left) };
      if (isStillOverloaded(words, attempt)) {
        throw new ProviderFailure('overloaded', 'The sandbox model is overloaded (sandbox:overloaded).');
      }
      const failure = requestedFailure(words, modelOf(request));
      if (failure) throw failure;
      const askAfterMs = request.kind === 'video' ? videos.pauseOf(tenantKey, job.id) : undefined;
      return askAfterMs === undefined ? { kind: 'ready' } : { kind: 'working', askAfterMs };
    },

    async fetchFile(job, _, { tenantKey, signal }) {
      signal.throwIfAborted();
      if (job.request.kind !== 'video') return (await begun.take(job.id)) ?? render(work, tenantKey, job);
      return videos.compute(tenantKey, job.id, () => render(work, tenantKey, job));
    },

    cancel: async () => {},
  };
}
