import { createHash, randomBytes } from 'node:crypto';
import { reserveCredits } from '../credits/index.ts';
import type { Egress } from '../platform/egress.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { findClaim, type IdempotencyClaim } from '../platform/idempotency.ts';
import { newId } from '../platform/ids.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { MediaKind } from '../providers/core/media/models.ts';
import { canonicalRequest, type GenerationRequest, problemsOf, seedOf } from '../providers/core/media/requests.ts';
import { type MediaRegistry, mediaModelFor } from '../providers/index.ts';
import { enforceStorageLimit, imageRefused, type SignedUrls, storageAway } from '../storage/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import type { GenerationPolicy } from '../temporal/contracts/studio.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/index.ts';
import { reservationMs } from './core/deadlines.ts';
import { formatId } from './core/ids.ts';
import { generationPrice } from './core/prices.ts';
import { generationStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import { startMakeGeneration } from './generation-workflows.ts';

export interface StudioWork {
  temporal: TemporalClient;
  generationPolicy: GenerationPolicy;
}

export interface CreateServices {
  media: MediaRegistry;
  generationPolicy: GenerationPolicy;
  egress: Pick<Egress, 'checkDestination'>;
  signedUrls: Pick<SignedUrls, 'read' | 'requireKey'>;
  temporal: Pick<TemporalClient, 'startsEagerly'>;
}

/** The key of a generation's reservation. */
export const creditKey = (generationId: string) => `generation:${generationId}`;

// Takes the tenant's next number; the row of its numbers stays locked until the commit, so that numbers have no gaps.
const insertGeneration = statement<{ id: string }>(
  'generation.insert',
  `with numbered as (
     insert into generation_total (organization_id, environment, total) values ($1::uuid, $2::text, 1)
     on conflict (organization_id, environment) do update set total = generation_total.total + 1
     returning total as number)
   insert into generation (id, organization_id, environment, number, kind, status, request, seed, image_url, correlation_id,
                           expected_ms, progress, claim, created_at)
   select $3::uuid, $1::uuid, $2::text, number, $4::text, 'processing', $5::jsonb, $6::bigint, $7::text, $8::text,
          $9::int, $10::smallint, $11::jsonb, clock_timestamp()
     from numbered
   returning id`,
);

/** Without a seed of the caller: by chance, or in the sandbox from the request, so that equal requests are equal files. */
function chooseSeed(scope: Scope, request: GenerationRequest): number {
  if (request.kind === 'image' && request.seed !== null) return request.seed;
  const isLive = scope.tenant.environment === 'live';
  return seedOf(isLive ? randomBytes(4) : createHash('sha256').update(canonicalRequest(request)).digest());
}

export interface NewGeneration {
  request: GenerationRequest;
  /** The address of the image that it works on, as the caller wrote it. */
  imageUrl: string | null;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
}

export interface CreatedGeneration {
  generationId: string;
  /** True when an earlier request with the same Idempotency-Key made it. */
  replayed: boolean;
}

/** Refuses what the address alone says, without a request. @throws AppError validation_error */
function checkImageUrl({ egress, signedUrls }: CreateServices, url: string): void {
  const own = signedUrls.read(url);
  if (own === 'refused') throw imageRefused('The address of the file is not valid, or not any more.');
  const problem = own === 'elsewhere' ? egress.checkDestination(url) : undefined;
  if (problem !== undefined) throw imageRefused(`Requests to this URL are not allowed: ${problem}.`);
}

/**
 * Creates a generation: its row, its reserved credits, the claim of its Idempotency-Key and the outbox entry that starts its
 * workflow commit together.
 * @throws AppError validation_error, provider_not_configured, insufficient_credits, idempotency_key_reused, forbidden;
 *   service_unavailable where files have no addresses
 */
export async function createGeneration(
  services: CreateServices,
  scope: Scope,
  { request, imageUrl, idempotency: claim, waiter }: NewGeneration,
): Promise<CreatedGeneration> {
  const earlier = claim && (await findClaim(scope, claim));
  if (earlier) return { generationId: earlier.resourceId, replayed: true };

  const { media } = services;
  const problems = problemsOf(request, media.models);
  if (problems.length > 0) throw invalid(problems);
  const { environment } = scope.tenant;
  const { model } = mediaModelFor(media, environment, request);
  services.signedUrls.requireKey();
  const { ms, reportsProgress, isInstant } = model.expectation(request);

  const id = newId();
  const seed = chooseSeed(scope, request);
  const { outcome, replayed } = await scope.transaction(
    async (tx) => {
      await enforceStorageLimit(tx);
      const { kind } = request;
      const reservation = { key: creditKey(id), operation: kind, amount: generationPrice(request) };
      await reserveCredits(tx, {
        ...reservation,
        expiresInMs: reservationMs(services.generationPolicy.deadlineMs, kind),
      });
      if (imageUrl !== null) checkImageUrl(services, imageUrl);
      const values = [id, kind, JSON.stringify(request), seed, imageUrl, scope.correlationId];
      const progress = reportsProgress ? 0 : null;
      const claimed = imageUrl !== null && claim ? { method: claim.method, path: claim.path, key: claim.key } : null;
      await tx.one(insertGeneration, ...values, Math.ceil(ms), progress, claimed && JSON.stringify(claimed));
      await tx.enqueue('generation.start', id, { waiter, instant: isInstant } satisfies StartHint);
      return { id };
    },
    { claim, outcome: { id } },
  );
  if (!replayed) {
    failPoint('generation.committed');
    // While Temporal takes the workflow, the file is already being made: it is waited for in this process.
    if (isInstant && services.temporal.startsEagerly(queues.generation)) {
      model.begin?.({ id, request, image: null, seed, ageMs: 0 }, { tenantKey: scope.tenantKey });
    }
  }
  return { generationId: outcome.id, replayed };
}

const findPending = statement<{ kind: MediaKind; plan: PlanName }>(
  'generation.pending_start',
  `select g.kind, o.plan from generation g join organization o on o.id = g.organization_id
    where g.organization_id = $1 and g.environment = $2 and g.id = $3
      and g.status in (${generationStates.sql('processing')})`,
);

/** What the process that created a generation knows of it. */
export interface StartHint {
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
  instant: boolean;
}

/** Starts the workflow of a generation, unless it has ended. @param hint given right after the commit */
export async function startPendingGeneration(
  { temporal, generationPolicy: policy }: StudioWork,
  scope: Scope,
  generationId: string,
  { waiter, instant }: StartHint = { waiter: null, instant: false },
): Promise<void> {
  const pending = await scope.one(findPending, generationId);
  if (!pending) return;
  const { tenant, correlationId } = scope;
  const args = { ...tenant, correlationId, generationId, waiter, policy, ...(instant && { instant }) };
  await startMakeGeneration(temporal, args, pending.kind, fairnessOf(tenant, pending.plan));
  failPoint('generation.started');
}

/** The failure that a caller is told who waited for a generation. */
export function generationFailed(kind: MediaKind, id: string, reason: string, message: string): AppError {
  const facts = { generationId: formatId(kind, id), reason };
  if (reason === 'service_unavailable') return storageAway(message, facts);
  return new AppError('ai_provider_error', message, facts);
}
