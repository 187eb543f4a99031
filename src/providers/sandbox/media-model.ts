import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { sizes } from '../core/media/aspect-ratios.ts';
import type { Quality } from '../core/media/models.ts';
import { canonicalRequest, type PromptedRequest, pixelLimits } from '../core/media/requests.ts';
import { isStillOverloaded, readSandboxWords, type SandboxWords } from '../core/sandbox-words.ts';
import type { MadeMedia, MediaModel } from '../media-ports.ts';
import { ProviderFailure } from '../ports.ts';
import type { Rendering } from './media/render-media.ts';
import { renderMedia } from './media/rendering.ts';

/** A better quality shows more, at the same size. */
const shapes: Record<Quality, number> = { standard: 12, high: 24, ultra: 40 };

/** How long a rendering may wait for its turn. */
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

/** The same digest for the same request, with the seed that was told for it. */
const digestOf = (request: PromptedRequest, seed: number): string => {
  const told = request.kind === 'image' ? { ...request, seed } : request;
  return createHash('sha256').update(canonicalRequest(told)).digest('hex');
};

/** A video is under way for at least so long, as those of providers are. */
const leastVideoSeconds = 2;

/** Videos that one process computes or has waiting at the same time. The others wait in their workflows. */
const videosAtOnce = 4;

const types = { image: 'png', video: 'mp4', music: 'mp3' } as const;

function renderingOf(request: PromptedRequest, seed: number, output: string): Rendering {
  const digest = digestOf(request, seed);
  switch (request.kind) {
    case 'image': {
      const { kind, aspectRatio, quality } = request;
      return { kind, digest, size: sizes[aspectRatio], shapes: shapes[quality], output };
    }
    case 'video': {
      const { kind, aspectRatio, duration } = request;
      const size = sizes[aspectRatio];
      return { kind, digest, size, seconds: duration, input: null, maxPixels: pixelLimits.input, output };
    }
    case 'music': {
      const { kind, duration, bpm } = request;
      return { kind, digest, seconds: duration, bpm, output };
    }
  }
}

async function render(
  work: BoundedWork,
  organizationId: string,
  request: PromptedRequest,
  seed: number,
): Promise<MadeMedia> {
  const type = types[request.kind];
  const folder = await mkdtemp(join(tmpdir(), 'atelier-media-'));
  const discard = () => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, `made.${type}`);
    const rendered = await work.run(renderMedia, organizationId, renderingOf(request, seed, path), { waitMs });
    if ('refused' in rendered) throw new Error(`The sandbox refused an image: ${rendered.refused}.`);
    const { size = null, seconds = null } = rendered.made;
    return { type, path, size, seconds, discard };
  } catch (error) {
    await discard();
    if (!(error instanceof WorkTooCostly)) throw error;
    throw new ProviderFailure('timeout', `The sandbox gave the generation up. ${error.message}`, { retryable: false });
  }
}

/** Longer waits for those that have waited longer: those of a large backlog do not all ask every moment. */
const againMs = (overdueMs: number) => Math.min(15_000, Math.max(500, overdueMs / 2));

/** When the request is answered, in milliseconds from its creation. */
function dueMs(request: PromptedRequest): number {
  const { slowSeconds } = readSandboxWords(request.prompt, request.model);
  return Math.max(slowSeconds, request.kind === 'video' ? leastVideoSeconds : 0) * 1_000;
}

/**
 * Media without a provider: files that are computed from the request, so that equal requests have equal files. Words in the
 * prompt take effect in this order: slow, overloaded, then a failure.
 */
export function sandboxMediaModel(work: BoundedWork): MediaModel {
  let videos = 0;
  return {
    repeatable: true,

    expectation: (request) => ({ ms: dueMs(request), reportsProgress: false }),

    submit: async ({ id }) => id,

    async poll({ request, ageMs }, _, { attempt, signal }) {
      signal.throwIfAborted();
      const left = dueMs(request) - ageMs;
      if (left > 0) return { kind: 'working', askAfterMs: Math.ceil(left) };
      const words = readSandboxWords(request.prompt, request.model);
      if (isStillOverloaded(words, attempt)) {
        throw new ProviderFailure('overloaded', 'The sandbox model is overloaded (sandbox:overloaded).');
      }
      const failure = requestedFailure(words, request.model);
      if (failure) throw failure;
      if (request.kind === 'video' && videos >= videosAtOnce) return { kind: 'working', askAfterMs: againMs(-left) };
      return { kind: 'ready' };
    },

    async fetchFile({ request, seed }, _, { organizationId, signal }) {
      signal.throwIfAborted();
      if (request.kind !== 'video') return render(work, organizationId, request, seed);
      videos++;
      try {
        // In a turn of their own: an organization's pictures do not wait behind its videos.
        return await render(work, `${organizationId}/video`, request, seed);
      } finally {
        videos--;
      }
    },

    cancel: async () => {},
  };
}
