import type { CreatedJob } from '../jobs/index.ts';
import type { IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { newId } from '../platform/ids.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { SpeechRequest } from '../providers/index.ts';
import { enforceStorageLimit } from '../storage/index.ts';
import type { VoiceCallPolicy } from '../temporal/contracts/voice.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import type { VoiceKind } from './entities.ts';
import { voiceJob } from './job.ts';
import { type TranscriptionRequest, voiceContents } from './sealed-call.ts';

export interface CreateServices {
  sealer: Sealer;
  voicePolicy: VoiceCallPolicy;
}

export interface NewCall {
  kind: VoiceKind;
  request: SpeechRequest | TranscriptionRequest;
  /** In credits. */
  price: number;
  /** The plan of the caller's organization. */
  plan: PlanName;
  idempotency: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end, if one does. */
  waiter: string | null;
  /** The stored recording. */
  file?: string;
  /** What else belongs to the transaction. */
  also?: (tx: Transaction) => Promise<void>;
}

const insertCall = statement({
  name: 'voice.insert',
  parameters: { id: 'uuid', kind: 'text', price: 'smallint', sealed: 'text', file: 'text?', correlationId: 'text' },
  row: { id: 'uuid' },
  text: `insert into voice_call (id, organization_id, environment, kind, status, price, request, file, correlation_id,
    created_at)
   values (:id, :organizationId, :environment, :kind, 'processing', :price, :sealed, :file, :correlationId,
           atelier_now())
   returning id`,
});

/**
 * Creates a call, and reserves its price.
 * @throws AppError insufficient_credits, idempotency_key_reused, rate_limit_exceeded, forbidden; SealError
 */
export function createCall(
  { sealer, voicePolicy: { deadlineMs } }: CreateServices,
  scope: Scope,
  { kind, request, price, plan, idempotency, waiter, file, also }: NewCall,
): Promise<CreatedJob> {
  const id = newId();
  const sealed = voiceContents(sealer, scope).seal(id, 'request', request);
  return voiceJob.create(scope, {
    id,
    idempotency,
    async insert(tx) {
      await enforceStorageLimit(tx);
      await tx.one(insertCall, { id, kind, price, sealed, file: file ?? null, correlationId: scope.correlationId });
      await also?.(tx);
    },
    credits: { operation: kind, amount: price, deadlineMs },
    plan,
    hint: { waiter },
  });
}
