import { createHash, randomBytes } from 'node:crypto';
import type { CreatedJob } from '../jobs/index.ts';
import { claimedKey, type IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { MediaKind } from '../providers/core/media/models.ts';
import { canonicalRequest, type GenerationRequest, problemsOf, seedOf } from '../providers/core/media/requests.ts';
import { type MediaRegistry, mediaModelFor } from '../providers/index.ts';
import { enforceStorageLimit, imageRefused, type SignedUrls, storageAway } from '../storage/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import type { GenerationPolicy } from '../temporal/contracts/studio.ts';
import { deadlineOf } from './core/deadlines.ts';
import { formatId } from './core/ids.ts';
import { generationPrice } from './core/prices.ts';
import { generationJob } from './job.ts';

export interface CreateServices {
  media: MediaRegistry;
  generationPolicy: GenerationPolicy;
  egress: Pick<Egress, 'checkDestination'>;
  signedUrls: Pick<SignedUrls, 'read' | 'requireKey'>;
  temporal: Pick<TemporalClient, 'startsEagerly'>;
}

// Takes the tenant's next number; the row of its numbers stays locked until the commit, so that numbers have no gaps.
const insertGeneration = statement({
  name: 'generation.insert',
  parameters: {
    id: 'uuid',
    kind: 'text',
    request: 'jsonb',
    seed: 'bigint',
    imageUrl: 'text?',
    correlationId: 'text',
    expectedMs: 'int',
    progress: 'smallint?',
    claim: 'jsonb?',
  },
  row: { id: 'uuid' },
  text: `with numbered as (
     insert into generation_total (organization_id, environment, total) values (:organizationId, :environment, 1)
     on conflict (organization_id, environment) do update set total = generation_total.total + 1
     returning total as number)
   insert into generation (id, organization_id, environment, number, kind, status, request, seed, image_url,
                           correlation_id, expected_ms, progress, claim, created_at)
   select :id, :organizationId, :environment, number, :kind, 'processing', :request, :seed, :imageUrl, :correlationId,
          :expectedMs, :progress, :claim, atelier_now()
     from numbered
   returning id`,
});

/** Without a seed of the caller: by chance, or in the sandbox from the request, so that equal requests are equal files. */
function chooseSeed(scope: Scope, request: GenerationRequest): number {
  if (request.kind === 'image' && request.seed !== null) return request.seed;
  const isLive = scope.tenant.environment === 'live';
  return seedOf(isLive ? randomBytes(4) : createHash('sha256').update(canonicalRequest(request)).digest());
}

interface NewGeneration {
  request: GenerationRequest;
  /** The address of the image that it works on, as the caller wrote it. */
  imageUrl: string | null;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
}

/** Refuses an address that is invalid on its own, without a request. @throws AppError validation_error */
function checkImageUrl({ egress, signedUrls }: CreateServices, url: string): void {
  const own = signedUrls.read(url);
  if (own === 'refused') throw imageRefused('The address of the file is not valid, or has expired.');
  const problem = own === 'elsewhere' ? egress.checkDestination(url) : undefined;
  if (problem !== undefined) throw imageRefused(`Requests to this URL are not allowed: ${problem}.`);
}

/**
 * Creates a generation, and reserves its credits.
 * @throws AppError validation_error, provider_not_configured, insufficient_credits, idempotency_key_reused, forbidden;
 *   service_unavailable where files have no addresses
 */
export async function createGeneration(
  services: CreateServices,
  scope: Scope,
  { request, imageUrl, idempotency, waiter }: NewGeneration,
): Promise<CreatedJob> {
  const earlier = await generationJob.findEarlier(scope, idempotency);
  if (earlier) return earlier;

  const { media } = services;
  const problems = problemsOf(request, media.models);
  if (problems.length > 0) throw invalid(problems);
  const { environment } = scope.tenant;
  const { model } = mediaModelFor(media, environment, request);
  services.signedUrls.requireKey();
  const { ms, reportsProgress, isInstant: instant } = model.expectation(request);

  const id = newId();
  const { kind } = request;
  const seed = chooseSeed(scope, request);
  const claimed = imageUrl !== null && idempotency ? claimedKey(idempotency) : null;
  const created = await generationJob.create(scope, {
    id,
    idempotency,
    async insert(tx) {
      await enforceStorageLimit(tx);
      await tx.one(insertGeneration, {
        id,
        kind,
        request: JSON.stringify(request),
        seed,
        imageUrl,
        correlationId: scope.correlationId,
        expectedMs: Math.ceil(ms),
        progress: reportsProgress ? 0 : null,
        claim: claimed && JSON.stringify(claimed),
      });
    },
    credits: {
      operation: kind,
      amount: generationPrice(request),
      deadlineMs: deadlineOf(services.generationPolicy.deadlineMs, kind),
    },
    check: () => imageUrl !== null && checkImageUrl(services, imageUrl),
    hint: { waiter, instant },
  });
  // While Temporal takes the workflow, the file is already being made: it is waited for in this process.
  if (!created.replayed && instant && services.temporal.startsEagerly(queues.generation)) {
    model.begin?.({ id, request, image: null, seed, ageMs: 0 }, { tenantKey: scope.tenantKey });
  }
  return created;
}

/** The failure for a caller that waited for a generation. */
export function generationFailed(kind: MediaKind, id: string, reason: string, message: string): AppError {
  const facts = { generationId: formatId(kind, id), reason };
  if (reason === 'service_unavailable') return storageAway(message, facts);
  return new AppError('ai_provider_error', message, facts);
}
