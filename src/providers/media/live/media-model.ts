import { join } from 'node:path';
import type { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../../platform/bounded-work/task.ts';
import { KeyedSemaphore } from '../../../platform/concurrency/keyed-semaphore.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import type { TenantKey } from '../../../platform/security/tenant-key.ts';
import {
  type MediaKind,
  type MediaModel as ModelEntry,
  type ModelTable,
  mediaProviders,
} from '../../core/media/models.ts';
import { type GenerationRequest, modelOf, pixelLimits } from '../../core/media/requests.ts';
import {
  imageUpstream,
  musicUpstream,
  toolUpstream,
  type UpstreamRequest,
  videoUpstream,
} from '../../core/media/upstream-request.ts';
import type { Call } from '../../ports.ts';
import { ImageUnusable, type MadeMedia, type MediaJob, type MediaModel } from '../media-ports.ts';
import type { Finishing } from './finish-output.ts';
import { finishOutput } from './finishing.ts';
import { dataUri } from './given-image.ts';
import type { HostJob, MediaHost } from './media-host.ts';
import { fetchOutput, unacceptable, unusable } from './output-file.ts';

export interface LiveMediaOptions {
  models: ModelTable;
  egress: Pick<Egress, 'request'>;
  /** The pool in which files are examined and converted. */
  work: BoundedWork;
}

interface OutputRules extends Pick<Finishing, 'kind' | 'asCutOut'> {
  maxBytes: number;
  /** For fetching the file. */
  deadlineMs: number;
}

const mebibytes = (count: number) => count * 1024 * 1024;
const picture: OutputRules = { kind: 'image', asCutOut: false, maxBytes: mebibytes(256), deadlineMs: 60_000 };
/** The accepted formats of each kind of work. */
const rules: Record<MediaKind, OutputRules> = {
  image: picture,
  upscale: { ...picture, asCutOut: true },
  background_removal: { ...picture, asCutOut: true },
  video: { kind: 'video', asCutOut: false, maxBytes: mebibytes(512), deadlineMs: 120_000 },
  music: { kind: 'sound', asCutOut: false, maxBytes: mebibytes(64), deadlineMs: 60_000 },
};

/** After this many attempts in a row, a missing job or file is no longer expected. */
const findAttempts = 4;
/** Submits with an image, which is in memory several times while it is sent. Its longest form has 33 MiB. */
const imageSlots = new KeyedSemaphore(2, Number.POSITIVE_INFINITY);
/** How long a file may wait until it is examined. */
const waitMs = 60_000;

function entryOf<Kind extends MediaKind>(models: ModelTable, request: GenerationRequest & { kind: Kind }) {
  const entry = models.get(modelOf(request));
  if (entry?.kind === request.kind) return entry as Extract<ModelEntry, { kind: Kind }>;
  // The operator took the name out of MEDIA_ALIASES, or gave it to another kind of work, after the request was accepted.
  throw new ProviderFailure('retired_model', `The model ${modelOf(request)} is no longer offered.`);
}

/** @param imageUrl where the provider reads the image; any where only the name of the model is needed */
function upstreamOf(models: ModelTable, { request, seed, image }: MediaJob, imageUrl: string): UpstreamRequest {
  switch (request.kind) {
    case 'image':
      return imageUpstream(entryOf(models, request), request, seed);
    case 'video':
      return videoUpstream(entryOf(models, request), request, seed, image && imageUrl);
    case 'music':
      return musicUpstream(entryOf(models, request), request, seed);
    case 'upscale':
    case 'background_removal':
      return toolUpstream(entryOf<'upscale' | 'background_removal'>(models, request), request, imageUrl);
  }
}

/** A job that is not found right after it was taken may be found a moment later. */
function missing(error: unknown, { attempt }: Call): unknown {
  if (!(error instanceof ProviderFailure) || error.status !== 404 || attempt >= findAttempts) return error;
  return new ProviderFailure(error.kind, error.message, { status: 404 });
}

/** Media of a live provider. The host speaks its wire format; what all of them have in common is here. */
export function liveMediaModel(host: MediaHost, { models, egress, work }: LiveMediaOptions): MediaModel {
  const title = mediaProviders[host.provider];
  const hostJob = (job: MediaJob): HostJob => ({
    generationId: job.id,
    model: modelOf(job.request),
    upstream: upstreamOf(models, job, '').upstream,
  });

  async function finish(job: MediaJob, { tenantKey }: Call, folder: string, path: string): Promise<Made> {
    const { kind, asCutOut } = rules[job.request.kind];
    const finishing = { kind, asCutOut, path, output: join(folder, 'finished'), maxPixels: pixelLimits.output };
    const finished = await work.run(finishOutput, tenantKey, finishing, { waitMs }).catch((error) => {
      throw error instanceof WorkTooCostly ? unacceptable(title, 'is too costly to examine') : error;
    });
    if ('wrong' in finished) throw (finished.isFinal ? unacceptable : unusable)(title, finished.wrong);
    return finished;
  }

  /** Before a request is sent, a failure of ours says that the job was not taken. */
  const imageOf = async ({ image }: MediaJob, tenantKey: TenantKey): Promise<string> => {
    if (!image) return '';
    return dataUri(work, tenantKey, image, host.maxImageCharacters).catch((error) => {
      if (error instanceof ImageUnusable) throw error;
      throw new ProviderFailure('unavailable', 'The image could not be prepared for the provider.');
    });
  };

  return {
    repeatable: false,

    expectation: (request) => ({
      ms: entryOf(models, request).typicalSeconds * 1_000,
      reportsProgress: host.reportsProgress,
      isInstant: false,
    }),

    submit(job, { tenantKey, signal }) {
      const send = async () => {
        const imageUrl = await imageOf(job, tenantKey);
        // No request was sent yet, so that it may be submitted again.
        if (signal.aborted) throw new ProviderFailure('unavailable', 'The job could not be sent in time.');
        return host.submit(hostJob(job), upstreamOf(models, job, imageUrl).input, signal);
      };
      return job.image ? imageSlots.run('submit', send) : send();
    },

    poll: async (job, upstreamId, call) =>
      host.look(hostJob(job), upstreamId, call.signal).catch((error) => Promise.reject(missing(error, call))),

    async fetchFile(job, upstreamId, call) {
      const url = await host
        .findOutput(hostJob(job), upstreamId, call.signal)
        .catch((error) => Promise.reject(missing(error, call)));
      const { maxBytes, deadlineMs } = rules[job.request.kind];
      const isLast = call.attempt >= findAttempts;
      const file = await fetchOutput(egress, { title, url, maxBytes, deadlineMs, signal: call.signal, isLast });
      try {
        return { ...(await finish(job, call, file.folder, file.path)), discard: file.discard };
      } catch (error) {
        await file.discard();
        throw error;
      }
    },

    cancel: async (job, upstreamId, { signal }) => host.cancel(hostJob(job), upstreamId, signal),
  };
}

type Made = Omit<MadeMedia, 'discard'>;
