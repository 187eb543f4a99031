import { createReadStream } from 'node:fs';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { mediaModels } from '../providers/core/media/models.ts';
import type { PromptedRequest } from '../providers/core/media/requests.ts';
import type { MadeMedia } from '../providers/media-ports.ts';
import type { MediaRegistry } from '../providers/media-registry.ts';
import { type FailureKind, ProviderFailure } from '../providers/ports.ts';
import { StorageFailure } from '../storage/failure.ts';
import type { GenerationProgress } from '../temporal/contracts/studio.ts';
import { deadlineMs } from './core/deadlines.ts';
import { formatId } from './core/ids.ts';
import { type FailureReason, generationStates } from './core/status.ts';
import { completeGeneration, type Ending, type EndServices, stopGeneration } from './end-generation.ts';
import { failPoint } from './fail-points.ts';

export interface AdvanceServices extends EndServices {
  media: MediaRegistry;
}

export interface AdvanceCall {
  /** The attempt of this activity, from 1. */
  attempt: number;
  /** After so many attempts a failure that may pass is final. */
  maxAttempts: number;
  signal: AbortSignal;
}

interface OpenGeneration {
  request: PromptedRequest;
  seed: number;
  ageMs: number;
}

const findOpen = statement<OpenGeneration>(
  'generation.open',
  `select request, seed::float8 as seed, extract(epoch from clock_timestamp() - created_at)::float8 * 1000 as "ageMs"
     from generation
    where organization_id = $1 and environment = $2 and id = $3 and status in (${generationStates.sql('processing')})`,
);

const reasons: Partial<Record<FailureKind, FailureReason>> = {
  content_refused: 'content_policy',
  invalid_request: 'invalid_input',
  timeout: 'timeout',
};

const timedOut = { code: 'timeout', message: 'The generation did not finish in time.' } as const;

/** Larger files are refused. */
const maxBytes = 512 * 1024 * 1024;

async function store(
  services: AdvanceServices,
  scope: Scope,
  ending: Ending,
  open: OpenGeneration,
  made: MadeMedia,
  signal: AbortSignal,
) {
  const { request } = open;
  const stored = await services.files.store(scope, {
    ...{ kind: request.kind, type: made.type, maxBytes, signal },
    content: createReadStream(made.path),
    title: formatId(request.kind, ending.generationId),
  });
  failPoint('generation.stored');
  await completeGeneration(services, scope, ending, { request, stored, made });
}

async function fail(
  services: AdvanceServices,
  scope: Scope,
  ending: Ending,
  error: { code: FailureReason; message: string },
): Promise<GenerationProgress> {
  await stopGeneration(services, scope, ending, error);
  return { kind: 'failed', ...error };
}

/**
 * Brings a generation forward: asks its provider where it stands, and once the file is made stores and records it. Harmless
 * when it is repeated: a generation that has ended is left as it is.
 * @throws ProviderFailure or StorageFailure while another attempt may succeed; errors of the database
 */
export async function advanceGeneration(
  services: AdvanceServices,
  scope: Scope,
  ending: Ending,
  { attempt, maxAttempts, signal }: AdvanceCall,
): Promise<GenerationProgress> {
  const open = await scope.one(findOpen, ending.generationId);
  if (!open) return { kind: 'ended' };
  const { request, seed, ageMs } = open;
  const leftMs = deadlineMs(request.kind) - ageMs;
  if (leftMs <= 0) return fail(services, scope, ending, timedOut);
  const { organizationId, environment } = scope.tenant;
  try {
    const model = services.media.mediaModel(environment, mediaModels.get(request.model)!.provider);
    const job = { id: ending.generationId, request, seed, ageMs };
    const progress = await model.advance(job, { organizationId, attempt, signal });
    if (progress.kind === 'wait') return { kind: 'wait', ms: Math.min(progress.ms, leftMs) };
    const { made } = progress;
    try {
      await store(services, scope, ending, open, made, signal);
    } finally {
      await made.discard();
    }
    return { kind: 'ended' };
  } catch (error) {
    if (error instanceof ProviderFailure) {
      if (error.retryable && attempt < maxAttempts) throw error;
      const code = reasons[error.kind] ?? 'provider_error';
      return fail(services, scope, ending, { code, message: error.message });
    }
    if (error instanceof StorageFailure && attempt >= maxAttempts) {
      return fail(services, scope, ending, { code: 'provider_error', message: error.message });
    }
    throw error;
  }
}
