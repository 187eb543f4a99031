import { reserveCredits } from '../credits/index.ts';
import type { Sealer } from '../platform/crypto.ts';
import { concurrencyLimitReached } from '../platform/errors.ts';
import { findClaim, type IdempotencyClaim } from '../platform/idempotency.ts';
import { newId } from '../platform/ids.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { SpeechRequest } from '../providers/index.ts';
import { enforceStorageLimit } from '../storage/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { VoiceCallPolicy } from '../temporal/contracts/voice.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/index.ts';
import { startPerformVoiceCall } from './call-workflows.ts';
import { voiceLimits } from './core/limits.ts';
import { voiceCallStates } from './core/status.ts';
import { creditKey } from './end-call.ts';
import type { VoiceKind } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { type TranscriptionRequest, voiceContents } from './sealed-call.ts';

export interface CallWork {
  temporal: TemporalClient;
  voicePolicy: VoiceCallPolicy;
}

export interface CreateServices {
  sealer: Sealer;
  voicePolicy: VoiceCallPolicy;
}

export interface NewCall {
  kind: VoiceKind;
  request: SpeechRequest | TranscriptionRequest;
  /** In credits. */
  price: number;
  /** Of the caller's organization. */
  plan: PlanName;
  idempotency: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string;
  /** The stored recording. */
  file?: string;
  /** What else belongs to the transaction. */
  also?: (tx: Transaction) => Promise<void>;
}

export interface CreatedCall {
  callId: string;
  /** An earlier request with the same Idempotency-Key made it. */
  replayed: boolean;
}

/** What the start right after the commit needs to know. */
interface StartHint {
  waiter: string;
}

/** Reserved credits are kept for an hour longer, so that no work is done on credits that were given back. */
const keptLongerMs = 3_600_000;

const insertCall = statement<{ id: string }>(
  'voice.insert',
  `insert into voice_call (id, organization_id, environment, kind, status, price, request, file, correlation_id, created_at)
   values ($3::uuid, $1::uuid, $2::text, $4::text, 'processing', $5::smallint, $6::text, $7::text, $8::text,
           clock_timestamp())
   returning id`,
);

const isOpen = `status in (${voiceCallStates.sql('processing')})`;

const countOpen = statement<{ open: number }>(
  'voice.count_open',
  `select count(*)::int as open from (
     select from voice_call where organization_id = $1 and environment = $2 and ${isOpen} limit $3) as counted`,
);

/**
 * Each call under way occupies a worker, even if its caller has disconnected. To be called when the tenant's
 * credits are locked, so that two transactions do not count at the same time.
 * @throws AppError rate_limit_exceeded
 */
async function enforceConcurrencyLimit(tx: Scope, plan: PlanName): Promise<void> {
  const limit = voiceLimits.openVoiceCalls.of(plan);
  const { open } = (await tx.one(countOpen, limit + 1))!;
  if (open > limit) throw concurrencyLimitReached(limit, voiceLimits.openVoiceCalls.window);
}

/** The call that an earlier request with the same key made. @throws AppError idempotency_key_reused */
export async function findEarlier(scope: Scope, claim: IdempotencyClaim | undefined): Promise<CreatedCall | undefined> {
  const earlier = claim && (await findClaim(scope, claim));
  return earlier && { callId: earlier.resourceId, replayed: true };
}

/**
 * Creates a call: its row, its reserved credits, the claim of its Idempotency-Key and the outbox entry that starts its
 * workflow commit together.
 * @throws AppError insufficient_credits, idempotency_key_reused, rate_limit_exceeded, forbidden; SealError
 */
export async function createCall(
  { sealer, voicePolicy }: CreateServices,
  scope: Scope,
  { kind, request, price, plan, idempotency: claim, waiter, file, also }: NewCall,
): Promise<CreatedCall> {
  const id = newId();
  const sealed = voiceContents(sealer, scope).seal(id, 'request', request);
  const { outcome, replayed } = await scope.transaction(
    async (tx) => {
      await enforceStorageLimit(tx);
      // The row before the credits: their account is locked until the commit.
      await tx.one(insertCall, id, kind, price, sealed, file ?? null, scope.correlationId);
      await also?.(tx);
      const expiresInMs = voicePolicy.deadlineMs + keptLongerMs;
      await reserveCredits(tx, { key: creditKey(id), operation: kind, amount: price, expiresInMs });
      await enforceConcurrencyLimit(tx, plan);
      await tx.enqueue('voice.start', id, { waiter } satisfies StartHint);
      return { id };
    },
    { claim, outcome: { id } },
  );
  if (!replayed) failPoint('voice.committed');
  return { callId: outcome.id, replayed };
}

const findPending = statement<{ plan: PlanName }>(
  'voice.pending_start',
  `select o.plan from voice_call v join organization o on o.id = v.organization_id
    where v.organization_id = $1 and v.environment = $2 and v.id = $3 and v.${isOpen}`,
);

/** Starts the workflow of a call, unless it has ended. @param hint given right after the commit */
export async function startPendingCall(
  { temporal, voicePolicy: policy }: CallWork,
  scope: Scope,
  callId: string,
  hint?: StartHint,
): Promise<void> {
  const pending = await scope.one(findPending, callId);
  if (!pending) return;
  const { tenant, correlationId } = scope;
  const args = { ...tenant, correlationId, callId, waiter: hint?.waiter ?? null, policy };
  await startPerformVoiceCall(temporal, args, fairnessOf(tenant, pending.plan));
  failPoint('voice.started');
}
