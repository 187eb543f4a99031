import type { IdempotencyClaim } from '../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import { type AppError, invalid } from '../../../src/platform/errors.ts';
import type { GenerationRequest } from '../../../src/providers/core/media/requests.ts';
import type { Services } from '../../../src/services.ts';
import { formatId } from '../../../src/studio/core/ids.ts';
import type { GenerationError } from '../../../src/studio/core/status.ts';
import { createGeneration, generationFailed } from '../../../src/studio/create-generation.ts';
import { type GenerationDetail, getGeneration } from '../../../src/studio/generations.ts';
import type { Caller } from '../../../src/tenancy/caller.ts';
import { waitForJob } from '../../await-job.ts';

interface GenerateCall {
  caller: Caller;
  request: GenerationRequest;
  /** The image that it works on. */
  imageUrl: string | null;
  idempotency: IdempotencyClaim | undefined;
}

/** A generation that ended while its caller waited, or did not. A failed one is an answer too, and repeated as it was. */
type GenerateAnswer = { replayed: boolean } & (
  | { kind: 'completed'; generation: GenerationDetail }
  | { kind: 'unfinished'; id: string }
  | { kind: 'failed'; failure: AppError }
);

/** The failure that a caller gets for a generation that failed or was cancelled. A fault of the request is refused as such. */
function failureOf({ id, request, error }: GenerationDetail): AppError {
  const cancelled: GenerationError = { code: 'provider_error', message: 'The generation was cancelled.' };
  const { code, message, path } = error ?? cancelled;
  return path === undefined ? generationFailed(request.kind, id, code, message) : invalid([{ path, message }]);
}

type Waited = { id: string; replayed: boolean; found: GenerationDetail | undefined };

/**
 * Creates a generation and waits until there is an answer: at most `SYNC_WAIT_SECONDS`, less if this process drains.
 * The generation continues after the wait.
 */
async function createAndWait(
  services: Services,
  scope: Scope,
  { caller, request, imageUrl, idempotency }: GenerateCall,
  isDecided: (generation: GenerationDetail) => boolean,
): Promise<Waited> {
  const { generationWaiters: waiters, env } = services;
  const open = await services.openRequests.open(caller, 'waitingRequests');
  try {
    const created = await createGeneration(services, scope, {
      request,
      imageUrl,
      idempotency,
      waiter: waiters.channel,
    });
    const { id, replayed } = created;
    const found = await waitForJob(created, {
      open,
      waiters,
      withinMs: env.SYNC_WAIT_SECONDS * 1000,
      find: () => getGeneration(scope, id),
      isDecided,
      // When this process drains, the answer says that the generation continues.
      refusal: () => open.refusal(),
    });
    return { id, replayed, found };
  } finally {
    open.close();
  }
}

/**
 * Makes a generation and waits until it has ended.
 * @throws AppError as `createGeneration`; idempotency_in_progress while an earlier request with the key is not answered;
 * rate_limit_exceeded when too many requests wait, unauthorized when the key ends meanwhile
 */
export async function makeAndWait(services: Services, scope: Scope, call: GenerateCall): Promise<GenerateAnswer> {
  const hasEnded = ({ status }: GenerationDetail) => status !== 'processing';
  const { id, replayed, found: ended } = await createAndWait(services, scope, call, hasEnded);
  if (ended === undefined) return { kind: 'unfinished', replayed, id: formatId(call.request.kind, id) };
  if (ended.status === 'completed') return { kind: 'completed', replayed, generation: ended };
  return { kind: 'failed', replayed, failure: failureOf(ended) };
}

/**
 * Starts a video. A video that begins with an image is answered after the image was fetched: a bad image never becomes
 * a job.
 * @throws AppError as `makeAndWait`; validation_error for a bad image
 */
export async function startVideo(
  services: Services,
  scope: Scope,
  call: GenerateCall,
): Promise<{ replayed: boolean; video: GenerationDetail }> {
  if (call.imageUrl === null) {
    const created = await createGeneration(services, scope, { ...call, waiter: null });
    return { replayed: created.replayed, video: await getGeneration(scope, created.id) };
  }
  const { id, replayed, found } = await createAndWait(services, scope, call, ({ awaitsImage }) => !awaitsImage);
  const video = found ?? (await getGeneration(scope, id));
  if (video.error?.path !== undefined) throw failureOf(video);
  return { replayed, video };
}
