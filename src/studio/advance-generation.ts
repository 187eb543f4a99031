import { createReadStream } from 'node:fs';
import { recordPatiently } from '../platform/database/database-errors.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { ProviderFailure } from '../platform/provider-failure.ts';
import { mediaProviders } from '../providers/core/media/models.ts';
import type { GenerationRequest } from '../providers/core/media/requests.ts';
import {
  type Call,
  ImageUnusable,
  type JobImage,
  type MadeMedia,
  type MediaJob,
  type MediaModel,
  type MediaRegistry,
  mediaModelFor,
  SubmissionLost,
} from '../providers/index.ts';
import { StorageFailure, type StoredFile } from '../storage/index.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import type { GenerationProgress, WaitingForProvider } from '../temporal/contracts/studio.ts';
import { publishEvent } from '../webhooks/index.ts';
import { cancelAtProvider } from './cancel-generation.ts';
import { deadlineOf } from './core/deadlines.ts';
import { videoCompleted } from './core/events.ts';
import { formatId } from './core/ids.ts';
import { type GenerationImage, queryOf } from './core/image.ts';
import { pollAfterMs } from './core/polling.ts';
import { settledCredits } from './core/prices.ts';
import { progressOf, progressOfFraction } from './core/progress.ts';
import { type GenerationError, generationStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import { failureReasonOf } from './failure-reason.ts';
import { fetchInput, type InputServices } from './fetch-input.ts';
import { ageMs } from './generations.ts';
import { type EndServices, generationJob, generationSubmission, timedOut } from './job.ts';

/**
 * `lost`: it is not known whether the provider accepted the job. `ended`: the generation ended during the submission,
 * and its provider was asked to cancel the job.
 */
type Submission = { kind: 'submitted'; upstreamId: string } | { kind: 'lost' } | { kind: 'ended' };

// Includes a generation that ended during the submission.
const recordUpstream = statement({
  name: 'generation.record_upstream',
  parameters: { id: 'uuid', upstreamId: 'text' },
  row: { isOpen: 'boolean' },
  text: `update generation set upstream_id = :upstreamId, asked_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id
   returning status in (${generationStates.sql('processing')}) as "isOpen"`,
});

/**
 * Submits a generation to its provider, which may charge for every job: a mark in the row, committed before, prevents a
 * second submission after any crash. The mark is removed if the provider certainly did not take the job.
 * @throws ProviderFailure; errors of the database
 */
async function submitOnce(
  scope: Scope,
  model: MediaModel,
  job: MediaJob,
  call: Call,
  timeoutMs: number,
): Promise<Submission> {
  if (model.repeatable) return { kind: 'submitted', upstreamId: await model.submit(job, call) };
  if (!(await generationSubmission.markSubmitted(scope, job.id))) return { kind: 'lost' };
  failPoint('generation.submitting');
  let upstreamId: string;
  try {
    upstreamId = await model.submit(job, { ...call, signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    if (error instanceof SubmissionLost) return { kind: 'lost' };
    if (error instanceof ProviderFailure && error.retryable) await generationSubmission.unmarkSubmitted(scope, job.id);
    throw error;
  }
  failPoint('generation.submitted');
  // The provider has the job: an interruption of the database must not lose its id.
  const recorded = await recordPatiently(() => scope.one(recordUpstream, { id: job.id, upstreamId }));
  if (recorded?.isOpen) return { kind: 'submitted', upstreamId };
  await model.cancel(job, upstreamId, call);
  return { kind: 'ended' };
}

// The input image is no longer needed.
const complete = statement({
  name: 'generation.complete',
  parameters: {
    id: 'uuid',
    file: 'text',
    width: 'int?',
    height: 'int?',
    seconds: 'float8?',
    credits: 'int',
    hasTransparency: 'boolean?',
  },
  row: { input: 'text?' },
  text: `update generation set status = 'completed', file = :file, width = :width, height = :height,
          seconds = :seconds, credits = :credits, has_transparency = :hasTransparency, image_url = null,
          finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
   returning image->>'file' as input`,
});

/**
 * Records a finished generation: its row, its file and its charge are one transaction.
 * @returns false when it had ended before; the file is then removed by the sweep, and nothing is charged
 */
function completeGeneration(
  services: EndServices,
  scope: Scope,
  ref: JobRef,
  { request, stored, made }: { request: GenerationRequest; stored: StoredFile; made: MadeMedia },
): Promise<boolean> {
  const { id } = ref;
  const amount = settledCredits(request, made.seconds);
  const { width = null, height = null } = made.size ?? {};
  return generationJob.end(services, scope, ref, async ({ tx, settleCredits }) => {
    const ended = await tx.one(complete, {
      id,
      file: stored.name,
      width,
      height,
      seconds: made.seconds,
      credits: amount,
      hasTransparency: made.hasTransparency,
    });
    if (!ended) return false;
    await services.files.record(tx, stored);
    if (ended.input !== null) await services.files.remove(tx, [ended.input]);
    await settleCredits(amount);
    if (request.kind === 'video') {
      await publishEvent(tx, videoCompleted, id, {
        videoId: id,
        url: services.signedUrls.sign(stored.name),
        status: 'completed',
        duration: made.seconds!,
        width: width!,
        height: height!,
        creditsUsed: amount,
      });
    }
    return true;
  });
}

export interface AdvanceServices extends EndServices, InputServices {
  media: MediaRegistry;
}

interface AdvanceCall {
  /** How often the provider's finished job was looked at and had no usable file. */
  withoutFile: number;
  /** The attempt of this activity, from 1. */
  attempt: number;
  /** After so many attempts a failure that may pass is final. */
  maxAttempts: number;
  signal: AbortSignal;
}

interface OpenGeneration {
  request: GenerationRequest;
  seed: number;
  imageUrl: string | null;
  image: GenerationImage | null;
  ageMs: number;
  progress: number | null;
  expectedMs: number | null;
  upstreamId: string | null;
}

const findOpen = statement({
  name: 'generation.open',
  parameters: { id: 'uuid' },
  row: {
    request: typed<GenerationRequest>('jsonb'),
    seed: 'float8',
    imageUrl: 'text?',
    image: typed<GenerationImage | null>('jsonb?'),
    progress: 'smallint?',
    expectedMs: 'int?',
    upstreamId: 'text?',
    ageMs: 'float8',
  },
  text: `select request, seed::float8 as seed, image_url as "imageUrl", image, progress, expected_ms as "expectedMs",
          upstream_id as "upstreamId", ${ageMs}
     from generation
    where organization_id = :organizationId and environment = :environment and id = :id
      and status in (${generationStates.sql('processing')})`,
});

// For providers that report no figures none are recorded, and a figure never falls.
const recordAsked = statement({
  name: 'generation.record_asked',
  parameters: { id: 'uuid', progress: 'int' },
  row: { progress: 'smallint?' },
  text: `update generation set asked_at = atelier_now(),
          progress = case when progress is not null then greatest(progress, :progress) end
    where organization_id = :organizationId and environment = :environment and id = :id
   returning progress`,
});

/** An attempt that was assumed dead may continue, and record that the provider took the job. */
const lostLookMs = 300_000;

/** Larger files are refused. */
const maxBytes = 512 * 1024 * 1024;

async function store(
  services: AdvanceServices,
  scope: Scope,
  ref: JobRef,
  open: OpenGeneration,
  made: MadeMedia,
  signal: AbortSignal,
) {
  const { request } = open;
  const stored = await services.files.store(scope, {
    kind: request.kind,
    type: made.type,
    maxBytes,
    signal,
    content: createReadStream(made.path),
    title: formatId(request.kind, ref.id),
  });
  await failPoint('generation.stored');
  await completeGeneration(services, scope, ref, { request, stored, made });
}

async function fail(
  services: AdvanceServices,
  scope: Scope,
  ref: JobRef,
  error: GenerationError,
): Promise<GenerationProgress> {
  await generationJob.stopWith(services, scope, ref, error);
  const { code, message } = error;
  return { kind: 'failed', code, message };
}

/** The image as its provider gets it. */
const jobImage = ({ files }: AdvanceServices, { file, ...facts }: GenerationImage, url: string | null): JobImage => ({
  ...facts,
  query: queryOf(url ?? ''),
  copyTo: (path) => files.copyTo(file, path),
});

/** The provider's answer, where it has one. @throws ProviderFailure; ImageUnusable */
async function ask(
  services: AdvanceServices,
  scope: Scope,
  ref: JobRef,
  open: OpenGeneration,
  leftMs: number,
  call: AdvanceCall,
): Promise<GenerationProgress> {
  const { request, seed, ageMs } = open;
  const { environment } = scope.tenant;
  const { generationPolicy: policy } = services;
  const { provider, model } = mediaModelFor(services.media, environment, request);
  const image = open.image && jobImage(services, open.image, open.imageUrl);
  const job = { id: ref.id, request, image, seed, ageMs };
  const asking = { tenantKey: scope.tenantKey, attempt: call.attempt, signal: call.signal };
  const waits = (kind: 'wait' | 'lost', ms: number, progress = open.progress): WaitingForProvider => ({
    kind,
    ms: Math.min(ms, leftMs),
    provider: mediaProviders[provider],
    percent: progressOf({ ...open, progress }),
  });

  const profile = policy.poll[request.kind === 'video' ? 'video' : 'others'];
  const again = (fraction?: number) => pollAfterMs(profile, { ageMs, expectedMs: open.expectedMs, fraction });
  if (open.upstreamId === null) {
    const submission = await submitOnce(scope, model, job, asking, policy.submitTimeoutMs);
    if (submission.kind === 'ended') return { kind: 'ended' };
    if (submission.kind === 'lost') return waits('lost', lostLookMs);
    // No provider makes a video within the moment in which it was given the job.
    if (profile.notBefore > 0 && !model.repeatable) return waits('wait', again());
    open.upstreamId = submission.upstreamId;
  }
  const status = await model.poll(job, open.upstreamId, asking);
  if (status.kind === 'working') {
    const { fraction, askAfterMs = again(fraction) } = status;
    if (model.repeatable) return waits('wait', askAfterMs);
    const progress = fraction === undefined ? 0 : progressOfFraction(fraction);
    const recorded = await scope.one(recordAsked, { id: job.id, progress });
    return waits('wait', askAfterMs, recorded ? recorded.progress : open.progress);
  }
  let made: MadeMedia;
  try {
    made = await model.fetchFile(job, open.upstreamId, asking);
  } catch (error) {
    const ms = policy.withoutFileMs[call.withoutFile];
    if (!(error instanceof ProviderFailure) || error.kind !== 'malformed_answer') throw error;
    if (ms === undefined) throw new ProviderFailure(error.kind, error.message, { retryable: false });
    return { ...waits('wait', ms), withoutFile: call.withoutFile + 1 };
  }
  try {
    await store(services, scope, ref, open, made, call.signal);
  } finally {
    await made.discard();
  }
  return { kind: 'ended' };
}

/**
 * Fetches the image that the generation works on, where it is still to be fetched.
 * @returns undefined when the provider can be asked
 */
async function takeImage(
  services: AdvanceServices,
  scope: Scope,
  ref: JobRef,
  open: OpenGeneration,
  leftMs: number,
  { signal }: AdvanceCall,
): Promise<GenerationProgress | undefined> {
  const { imageUrl, request, ageMs } = open;
  if (imageUrl === null || open.image !== null) return undefined;
  const input = await fetchInput(services, scope, { ...ref, request, imageUrl, ageMs }, signal);
  if (input.kind === 'wait') return { kind: 'image', ms: Math.min(input.ms, leftMs) };
  if (input.kind === 'refused') return fail(services, scope, ref, input.error);
  open.image = input.image;
  return undefined;
}

/**
 * Advances a generation: fetches its input image, submits it to its provider or polls its status there, and stores and
 * records the finished file. Repetition is harmless: a generation that has ended stays unchanged.
 * @throws ProviderFailure or StorageFailure while another attempt may succeed; errors of the database
 */
export async function advanceGeneration(
  services: AdvanceServices,
  scope: Scope,
  ref: JobRef,
  call: AdvanceCall,
): Promise<GenerationProgress> {
  const open = await scope.one(findOpen, { id: ref.id });
  if (!open) return { kind: 'ended' };
  const { kind } = open.request;
  const leftMs = deadlineOf(services.generationPolicy.deadlineMs, kind) - open.ageMs;
  if (leftMs <= 0) {
    const failed = await fail(services, scope, ref, timedOut);
    // No caller waits for its result. Whether the provider cancels it changes nothing.
    await cancelAtProvider(services, scope, ref.id, call).catch(() => {});
    return failed;
  }
  const mayRepeat = call.attempt < call.maxAttempts;
  try {
    const untilFetched = await takeImage(services, scope, ref, open, leftMs, call);
    return untilFetched ?? (await ask(services, scope, ref, open, leftMs, call));
  } catch (error) {
    if (error instanceof ProviderFailure) {
      // A job that the provider has is polled until the deadline. A video is also retried until then, because it takes
      // minutes anyway.
      if (error.retryable && (mayRepeat || open.upstreamId !== null || kind === 'video')) throw error;
      return fail(services, scope, ref, { code: failureReasonOf(error.kind), message: error.message });
    }
    if (error instanceof ImageUnusable) {
      return fail(services, scope, ref, { code: 'invalid_input', message: error.message, path: 'imageUrl' });
    }
    // A full disk stays full for longer than a caller waits.
    if (error instanceof StorageFailure && (!mayRepeat || error.reason !== 'unavailable')) {
      return fail(services, scope, ref, { code: 'service_unavailable', message: error.message });
    }
    throw error;
  }
}
