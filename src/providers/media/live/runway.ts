import type { RunwayML } from '@runwayml/sdk';
import { z } from 'zod';
import { type FailureKind, ProviderFailure } from '../../../platform/provider-failure.ts';
import type { HttpExchange } from '../../http-exchange.ts';
import type { MediaStatus } from '../media-ports.ts';
import { exchange, type MediaCall, submitOnce, type Wording } from './exchange.ts';
import { type HostJob, type HostOptions, type MediaHost, upstreamIdPattern } from './media-host.ts';

const load = () => import('@runwayml/sdk');

async function connect({ apiKey, baseUrl, timeoutMs }: HostOptions, http: HttpExchange): Promise<RunwayML> {
  const { RunwayML } = await load();
  return new RunwayML({
    apiKey,
    baseURL: baseUrl,
    timeout: timeoutMs,
    maxRetries: 0,
    logLevel: 'off',
    fetch: http.fetch,
  });
}

const issue = z.looseObject({
  message: z.string().optional(),
  path: z.array(z.union([z.string(), z.number()])).optional(),
});
const errorBody = z.looseObject({
  error: z.string().optional(),
  message: z.string().optional(),
  issues: z.array(issue).optional(),
});

const wording: Wording = {
  read(_, body) {
    const { error = '', message = error, issues } = errorBody.safeParse(body).data ?? {};
    const first = issues?.[0];
    if (!first) return { message };
    return { message: [first.path?.join('.'), first.message].filter(Boolean).join(': ') };
  },
};

const accepted = z.object({ id: z.string().regex(upstreamIdPattern) });
const task = z.object({
  status: z.string(),
  progress: z.number().optional(),
  output: z.array(z.string()).optional(),
  failureCode: z.string().optional(),
});
type Task = z.infer<typeof task>;

const gone = (status?: number) =>
  new ProviderFailure('unavailable', 'Runway gave the job up.', { retryable: false, ...(status && { status }) });

const failures: [RegExp, FailureKind, string][] = [
  [/(^|\.)SAFETY(\.|$)/, 'content_refused', 'Runway refused the content.'],
  [/^ASSET\.INVALID/, 'invalid_request', 'Runway cannot use the image.'],
];

/** Codes as `SAFETY.INPUT.TEXT`, `INPUT_PREPROCESSING.SAFETY.TEXT`, `INTERNAL.BAD_OUTPUT.CODE01`. Runway's text is for us alone. */
function failureOf({ status, failureCode = '' }: Task): ProviderFailure {
  const final = { retryable: false };
  if (status !== 'FAILED') return gone();
  const [, kind, message] = failures.find(([pattern]) => pattern.test(failureCode)) ?? [];
  return new ProviderFailure(kind ?? 'unavailable', message ?? 'Runway could not make the video.', final);
}

function statusOf(found: Task): MediaStatus {
  switch (found.status) {
    case 'PENDING':
    case 'THROTTLED':
      return { kind: 'working', fraction: 0 };
    case 'RUNNING':
      return { kind: 'working', fraction: found.progress ?? 0 };
    case 'SUCCEEDED':
      return { kind: 'ready' };
    default:
      throw failureOf(found);
  }
}

/** Runway's API, over its SDK without its retries. It has no webhooks and no idempotency keys. */
export function runwayHost(options: HostOptions): MediaHost {
  const host = { provider: 'RUNWAY' as const };
  const callOf = (job: HostJob, signal: AbortSignal): MediaCall => ({ host, options, job, signal, wording, load });

  const retrieve = (job: HostJob, id: string, of: AbortSignal) =>
    exchange(callOf(job, of), async (http, signal) => {
      const client = await connect(options, http);
      return task.parse(await client.tasks.retrieve(id, { signal }));
    }).catch((error) => {
      throw error instanceof ProviderFailure && error.status === 404 ? gone(404) : error;
    });

  return {
    ...host,
    reportsProgress: true,
    maxImageCharacters: 5 * 1024 * 1024,

    submit: (job, body, of) =>
      submitOnce(callOf(job, of), async (http, signal) => {
        const client = await connect(options, http);
        return accepted.parse(await client.post(`/v1/${job.upstream}`, { body, signal })).id;
      }),

    look: async (job, id, signal) => statusOf(await retrieve(job, id, signal)),

    async findOutput(job, id, signal) {
      const found = await retrieve(job, id, signal);
      const status = statusOf(found);
      const [url] = found.output ?? [];
      if (status.kind === 'ready' && url !== undefined) return url;
      throw new ProviderFailure('malformed_answer', 'Runway finished the job and gave no file.');
    },

    async cancel(job, id, of) {
      try {
        await exchange(callOf(job, of), async (http, signal) => {
          const client = await connect(options, http);
          await client.tasks.delete(id, { signal });
        });
      } catch (error) {
        if (!(error instanceof ProviderFailure && error.status === 404)) throw error;
      }
    },
  };
}
