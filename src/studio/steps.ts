// The steps of workflows that generate.

import { createHash } from 'node:crypto';
import { clock } from '../platform/clock.ts';
import { fingerprintOf } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { invalidPayload, problemsOf, refusalOfStep, slotAfterMs } from '../platform/parts/step-errors.ts';
import type { StepKind, StepOutcome } from '../platform/parts/step-kind.ts';
import { sizes } from '../providers/core/media/aspect-ratios.ts';
import {
  canonicalRequest,
  modelOf,
  problemsOf as problemsOfRequest,
  seedOf,
} from '../providers/core/media/requests.ts';
import { readSandboxWords } from '../providers/core/sandbox-words.ts';
import { cancelVideo } from './cancel-generation.ts';
import { settledCredits } from './core/prices.ts';
import type { GenerationError } from './core/status.ts';
import { type CreateServices, createGeneration } from './create-generation.ts';
import {
  completedVideoRecord,
  cutOutRecord,
  imageRecord,
  musicRecord,
  type Sign,
  upscaleRecord,
} from './generation-records.ts';
import { type GenerationDetail, getGeneration } from './generations.ts';
import type { GenerationJobServices } from './job.ts';
import {
  type AnyBody,
  type Asked,
  backgroundRemovalBody,
  imageBody,
  musicBody,
  upscaleBody,
  videoBody,
} from './request-bodies.ts';

interface StepServices extends Omit<CreateServices, 'signedUrls'>, GenerationJobServices {
  signedUrls: CreateServices['signedUrls'] & { sign: Sign };
}

const codes: Record<GenerationError['code'], string> = {
  content_policy: 'content_refused',
  invalid_input: 'invalid_payload',
  provider_error: 'service_unavailable',
  service_unavailable: 'service_unavailable',
  timeout: 'timeout',
};

function failureOf(error: GenerationError | null): StepOutcome {
  if (!error) return { error: { code: 'service_unavailable', message: 'The generation was cancelled.' } };
  const { code, message, path } = error;
  if (path !== undefined) return { error: invalidPayload([{ path: `payload.${path}`, message }]) };
  return { error: { code: codes[code], message } };
}

// Until the commit nothing ends the generation.
const holdGeneration = statement({
  name: 'generation.hold',
  parameters: { id: 'uuid' },
  row: { hasEnded: 'boolean' },
  text: `select finished_at is not null as "hasEnded" from generation
    where organization_id = :organizationId and environment = :environment and id = :id for share`,
});

/** Files of test runs, which store none. */
const sampleUrl = (type: string) => `https://samples.example.com/sample.${type}`;
const sampleTypes = { image: 'png', upscale: 'png', background_removal: 'png', video: 'mp4', music: 'mp3' } as const;
const sampleSize = { width: 1024, height: 1024 };
const sampleFailures: Record<string, GenerationError> = {
  refuse: { code: 'content_policy', message: 'The sandbox model refused the content (sandbox:refuse).' },
  timeout: { code: 'timeout', message: 'The sandbox model did not finish in time (sandbox:timeout).' },
  fail: { code: 'provider_error', message: 'The sandbox model failed (sandbox:fail).' },
};

/** The generation that the sandbox would return. Equal requests give equal generations. */
function sampleOf({ request, imageUrl }: Asked): GenerationDetail {
  const digest = createHash('sha256').update(canonicalRequest(request, imageUrl)).digest();
  const factor = request.kind === 'upscale' ? request.scale : 1;
  const size = 'aspectRatio' in request ? sizes[request.aspectRatio] : sampleSize;
  const seconds = 'duration' in request ? request.duration : null;
  const hex = digest.toString('hex');
  const words = readSandboxWords('prompt' in request ? request.prompt : (imageUrl ?? ''), modelOf(request));
  const failure = words.failure && (sampleFailures[words.failure] ?? sampleFailures.fail!);
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    status: failure ? 'failed' : 'completed',
    request,
    seed: request.kind === 'image' && request.seed !== null ? request.seed : seedOf(digest),
    image: imageUrl === null ? null : sampleSize,
    file: sampleTypes[request.kind],
    width: request.kind === 'music' ? null : size.width * factor,
    height: request.kind === 'music' ? null : size.height * factor,
    seconds,
    hasTransparency: request.kind === 'background_removal',
    credits: settledCredits(request, seconds),
    error: failure ?? null,
    progress: null,
    expectedMs: null,
    ageMs: 0,
    askedMsAgo: null,
    awaitsImage: false,
    createdAt: clock.date(),
    finishedAt: clock.date(),
  };
}

interface GeneratingStep {
  type: string;
  /** The endpoint whose body the payload is. */
  endpoint: string;
  does: string;
  output: string;
  body: AnyBody;
  example: Record<string, unknown>;
  record(generation: GenerationDetail, sign: Sign): unknown;
  cancel?: (services: StepServices, scope: Scope, id: string) => Promise<void>;
}

function generatingStep(step: GeneratingStep): StepKind<StepServices> {
  const { type, endpoint, does, output, body, example, record, cancel } = step;
  const outcomeOf = (found: GenerationDetail, sign: Sign): StepOutcome =>
    found.status === 'completed' ? { output: record(found, sign) } : failureOf(found.error);
  return {
    type,
    scope: 'studio',
    description: `${does} The payload is the body of \`POST /api/studio/${endpoint}\`. ${output}`,
    example,
    check({ media }, { payload }) {
      const read = body.schema.safeParse(payload);
      if (!read.success) return problemsOf(body.schema, payload);
      return problemsOfRequest(body.read(read.data).request, media.models).map(({ path, message }) => ({
        path: `payload.${path}`,
        message,
      }));
    },
    async perform(services, scope, { fields: { payload }, key }) {
      const read = body.schema.safeParse(payload);
      if (!read.success) return { error: invalidPayload(problemsOf(body.schema, payload)) };
      const idempotency = { method: 'STEP', path: `/studio/${endpoint}`, key, fingerprint: fingerprintOf(null) };
      try {
        const { id } = await createGeneration(services, scope, {
          ...body.read(read.data),
          idempotency,
          waiter: null,
        });
        return { job: id };
      } catch (error) {
        const afterMs = slotAfterMs(error);
        return afterMs === undefined ? { error: refusalOfStep(error) } : { slotAfterMs: afterMs };
      }
    },
    async simulate({ media }, _, { payload }) {
      const read = body.schema.safeParse(payload);
      if (!read.success) return { error: invalidPayload(problemsOf(body.schema, payload)) };
      const asked = body.read(read.data);
      const problems = problemsOfRequest(asked.request, media.models);
      if (problems.length > 0) {
        return { error: invalidPayload(problems.map((one) => ({ ...one, path: `payload.${one.path}` }))) };
      }
      return outcomeOf(sampleOf(asked), sampleUrl);
    },
    job: {
      hold: async (_, tx, id) => (await tx.one(holdGeneration, { id }))?.hasEnded ?? true,
      async outcome({ signedUrls }, scope, id) {
        const found = await getGeneration(scope, id).catch((error: unknown) => ({ error: refusalOfStep(error) }));
        return 'id' in found ? outcomeOf(found, (file) => signedUrls.sign(file)) : found;
      },
      ...(cancel && { cancel }),
    },
  };
}

const exampleUrl = 'https://images.example.com/bicycle.png';

export const studioSteps: readonly StepKind<StepServices>[] = [
  generatingStep({
    type: 'image',
    endpoint: 'generate',
    does: 'Generates an image.',
    output:
      'Its output is the image: `{id, url, prompt, model, aspectRatio, width, height, seed, creditsUsed, createdAt}`.',
    body: imageBody,
    example: { prompt: 'A red bicycle in front of a blue wall', aspectRatio: '16:9' },
    record: imageRecord,
  }),
  generatingStep({
    type: 'upscale',
    endpoint: 'upscale',
    does: 'Enlarges an image.',
    output: 'Its output is `{id, url, originalWidth, originalHeight, newWidth, newHeight, scale, creditsUsed}`.',
    body: upscaleBody,
    example: { imageUrl: exampleUrl, scale: 2 },
    record: upscaleRecord,
  }),
  generatingStep({
    type: 'remove_bg',
    endpoint: 'remove-bg',
    does: 'Removes the background of an image.',
    output: 'Its output is `{id, url, format, hasTransparency, creditsUsed}`.',
    body: backgroundRemovalBody,
    example: { imageUrl: exampleUrl },
    record: cutOutRecord,
  }),
  generatingStep({
    type: 'video',
    endpoint: 'generate-video',
    does: 'Generates a video and waits for it.',
    output: 'Its output is the completed video: `{id, status, url, duration, width, height, creditsUsed}`.',
    body: videoBody,
    example: { prompt: 'Waves on a beach at sunset', duration: 5 },
    record: completedVideoRecord,
    // Only videos can be cancelled.
    async cancel(services, scope, id) {
      const found = await getGeneration(scope, id).catch(() => undefined);
      if (found?.request.kind === 'video') await cancelVideo(services, scope, id);
    },
  }),
  generatingStep({
    type: 'music',
    endpoint: 'generate-music',
    does: 'Generates music.',
    output: 'Its output is `{id, url, duration, format, creditsUsed}`.',
    body: musicBody,
    example: { prompt: 'A calm waltz', duration: 10 },
    record: musicRecord,
  }),
];
