import type { FalClient } from '@fal-ai/client';
import { z } from 'zod';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import type { HttpExchange } from '../../http-exchange.ts';
import type { MediaStatus } from '../media-ports.ts';
import { exchange, type MediaCall, submitOnce, type Wording } from './exchange.ts';
import { type HostJob, type HostOptions, type MediaHost, upstreamIdPattern } from './media-host.ts';

interface FalOptions extends HostOptions {
  /** The address at which fal reports the end of a generation's job; undefined where it cannot reach us. */
  webhookUrl?: ((generationId: string) => string) | undefined;
}

/** Where the client sends everything. */
const ownQueue = 'https://queue.fal.run';

/**
 * Takes the place of every failure that the client would answer by sending the request again: it does so with submits that
 * are paid for, and its own setting against it is ignored by the queue. The exchange remembers what really happened.
 */
class NotSentAgain extends Error {
  override name = 'NotSentAgain';
}

const load = () => import('@fal-ai/client');

async function connect({ apiKey, baseUrl }: FalOptions, http: HttpExchange): Promise<FalClient> {
  const { createFalClient } = await load();
  return createFalClient({
    // Without them the client reads variables of its own.
    credentials: apiKey,
    requestMiddleware: async (request) => ({ ...request, url: request.url.replace(ownQueue, baseUrl) }),
    fetch: async (input: string | URL | Request, init?: RequestInit) => {
      const response = await http.fetch(input, init).catch(() => {
        throw new NotSentAgain('The connection failed.');
      });
      if (!response.ok) throw new NotSentAgain(`HTTP ${response.status}`);
      return response;
    },
  });
}

/** What goes wrong within fal, around the model. Its body distinguishes it from what gateways answer. */
const ownErrors = /^(request_timeout|startup_timeout|runner_\w+|internal_error)$/;

const errorBody = z.looseObject({
  error_type: z.string().optional(),
  detail: z
    .union([
      z.string(),
      z.array(
        z.looseObject({
          type: z.string().optional(),
          msg: z.string().optional(),
          loc: z.array(z.union([z.string(), z.number()])).optional(),
        }),
      ),
    ])
    .optional(),
});

const wording: Wording = {
  read(_, body) {
    const { detail } = errorBody.safeParse(body).data ?? {};
    if (detail === undefined) return {};
    if (typeof detail === 'string') {
      // The account, and not the request.
      return {
        ...(/exhausted balance|user is locked/i.test(detail) && { code: 'insufficient_quota' }),
        message: detail,
      };
    }
    const { type: code, msg, loc } = detail.find(({ type }) => type === 'content_policy_violation') ?? detail[0] ?? {};
    const path = loc?.filter((part) => part !== 'body').join('.');
    return { ...(code !== undefined && { code }), message: [path, msg].filter(Boolean).join(': ') };
  },
  saysNotTaken: (body) => ownErrors.test(errorBody.safeParse(body).data?.error_type ?? ''),
};

/** Only a submit names the model: later, a missing resource is the job. */
const ofSubmit: Wording = {
  ...wording,
  read: (status, body) => ({ ...wording.read(status, body), ...(status === 404 && { code: 'model_not_found' }) }),
};

const queued = z.object({ request_id: z.string().regex(upstreamIdPattern) });
const standing = z.object({ status: z.string() });
const standings: Record<string, MediaStatus> = {
  IN_QUEUE: { kind: 'working' },
  IN_PROGRESS: { kind: 'working' },
  COMPLETED: { kind: 'ready' },
};
const file = z.object({ url: z.string().min(1) });
/** One field holds the file, and its name says its type. */
const output = z.looseObject({
  images: z.array(file).optional(),
  image: file.optional(),
  video: file.optional(),
  audio: file.optional(),
  audio_file: file.optional(),
  has_nsfw_concepts: z.array(z.boolean()).optional(),
});

const gone = (status?: number) =>
  new ProviderFailure('unavailable', 'fal gave the job up.', { retryable: false, ...(status && { status }) });

/** Whether an error of the server is the model's: a failed job keeps it for good. Others are of the way to it. */
const isOfJob = (body: unknown): boolean =>
  Array.isArray((body as { detail?: unknown } | undefined)?.detail) || wording.saysNotTaken!(body);

/** fal's queue, over its client. Its answers name addresses for what follows; they are not used, because they are not ours. */
export function falHost(options: FalOptions): MediaHost {
  const host = { provider: 'FAL' as const };
  const callOf = (job: HostJob, signal: AbortSignal): MediaCall => ({ host, options, job, signal, wording, load });

  return {
    ...host,
    reportsProgress: false,
    maxImageCharacters: Number.POSITIVE_INFINITY,

    submit: (job, input, signal) =>
      submitOnce({ ...callOf(job, signal), wording: ofSubmit }, async (http, abortSignal) => {
        const { queue } = await connect(options, http);
        const webhookUrl = options.webhookUrl?.(job.generationId);
        const answer = await queue.submit(job.upstream, { input, abortSignal, ...(webhookUrl && { webhookUrl }) });
        return queued.parse(answer).request_id;
      }),

    look: (job, requestId, signal) =>
      exchange(callOf(job, signal), async (http, abortSignal) => {
        const { queue } = await connect(options, http);
        const { status } = standing.parse(await queue.status(job.upstream, { requestId, abortSignal }));
        const found = standings[status];
        if (!found) throw gone();
        return found;
      }).catch((error) => {
        throw error instanceof ProviderFailure && error.status === 404 ? gone(404) : error;
      }),

    findOutput: (job, requestId, signal) => findOutput(callOf(job, signal), options, requestId),

    async cancel(job, requestId, signal) {
      try {
        await exchange(callOf(job, signal), async (http, abortSignal) => {
          const { queue } = await connect(options, http);
          await queue.cancel(job.upstream, { requestId, abortSignal });
        });
      } catch (error) {
        // 400 ALREADY_COMPLETED, 404 NOT_FOUND.
        if (!(error instanceof ProviderFailure && (error.status === 400 || error.status === 404))) throw error;
      }
    },
  };
}

/** A failed job is `COMPLETED` too: only the result says so. */
async function findOutput(call: MediaCall, options: FalOptions, requestId: string): Promise<string> {
  let body: unknown;
  const read: Wording['read'] = (status, said) => {
    body = said;
    return wording.read(status, said);
  };
  try {
    return await exchange({ ...call, wording: { ...wording, read } }, async (http, abortSignal) => {
      const { queue } = await connect(options, http);
      const { data } = await queue.result(call.job.upstream, { requestId, abortSignal });
      const { images, image, video, audio, audio_file, has_nsfw_concepts } = output.parse(data);
      // Its result is then a black picture.
      if (has_nsfw_concepts?.[0]) throw new ProviderFailure('content_refused', 'fal refused the content.');
      const found = images?.[0] ?? image ?? video ?? audio ?? audio_file;
      if (!found) throw new Error('The result has no file.');
      return found.url;
    });
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    const { kind, message, status } = error;
    if (status === 404) throw gone(404);
    if (!error.retryable || !isOfJob(body)) throw error;
    throw new ProviderFailure(kind, message, { retryable: false, ...(status !== undefined && { status }) });
  }
}
