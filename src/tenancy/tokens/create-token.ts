import { clock } from '../../platform/clock.ts';
import { type ClaimOptions, type Once, requireRecent } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Caller } from '../caller.ts';
import type { RunRestriction, TokenScope } from '../core/token-access.ts';
import { generateToken, hashKey } from '../key-format.ts';

export interface NewToken {
  /** The caller has each of them. */
  scopes: readonly TokenScope[];
  runs: RunRestriction;
  expiresInSeconds: number;
  maxUses: number | null;
  origins: readonly string[] | null;
}

interface IssuedToken {
  id: string;
  /** The token itself. It is returned only here. */
  token: string;
  /** The key or the session of its creator. */
  createdBy: string;
  createdAt: Date;
  expiresAt: Date;
}

const insert = statement({
  name: 'browser_token.create',
  parameters: {
    id: 'uuid',
    keyId: 'uuid?',
    sessionId: 'uuid?',
    userId: 'uuid?',
    hash: 'bytea',
    scopes: 'text[]',
    runIds: 'uuid[]?',
    workflowIds: 'uuid[]?',
    batchId: 'uuid?',
    tags: 'text[]?',
    origins: 'text[]?',
    maxUses: 'int?',
    createdAt: 'timestamptz',
    expiresAt: 'timestamptz',
  },
  text: `insert into browser_token (id, organization_id, environment, key_id, session_id, user_id, hash, scopes, run_ids, workflow_ids, batch_id,
     tags, origins, max_uses, created_at, expires_at)
   values (:id, :organizationId, :environment, :keyId, :sessionId, :userId, :hash, :scopes, :runIds, :workflowIds, :batchId, :tags, :origins,
     :maxUses, :createdAt, :expiresAt)`,
});

/**
 * Issues a token that may do no more than the key or the session of `caller`, and no longer. A repeated request gets it
 * again from the same key or session alone.
 * @throws AppError conflict, idempotency_key_reused
 */
export async function createToken(
  scope: Scope,
  caller: Caller,
  asked: NewToken,
  once: ClaimOptions<IssuedToken>,
): Promise<Once<IssuedToken>> {
  const { keyId, session } = caller;
  const createdBy = String(keyId ?? session?.id);
  const create = async (tx: Transaction): Promise<IssuedToken> => {
    const id = newId();
    const token = generateToken(scope.tenant.environment);
    const createdAt = clock.date();
    const { scopes, runs, maxUses, origins, expiresInSeconds } = asked;
    const ownEnd = createdAt.getTime() + expiresInSeconds * 1000;
    const expiresAt = new Date(Math.min(ownEnd, caller.expiresAt ?? Number.POSITIVE_INFINITY));
    await tx.rows(insert, {
      id,
      keyId,
      sessionId: session?.id ?? null,
      userId: session?.userId ?? null,
      hash: hashKey(token),
      scopes,
      ...runs,
      origins,
      maxUses,
      createdAt,
      expiresAt,
    });
    return { id, token, createdBy, createdAt, expiresAt };
  };
  const issued = await scope.transaction(create, once);
  requireRecent(issued);
  if (issued.outcome.createdBy !== createdBy) {
    throw new AppError('conflict', 'Another key or session created a token with this Idempotency-Key.');
  }
  return issued;
}
