import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
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
  /** The token itself. It is returned only here. */
  token: string;
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

/** Issues a token that may do no more than the key or the session of `caller`, and no longer. */
export async function createToken(scope: Scope, caller: Caller, asked: NewToken): Promise<IssuedToken> {
  const { keyId, session } = caller;
  const token = generateToken(scope.tenant.environment);
  const createdAt = new Date();
  const { scopes, runs, maxUses, origins, expiresInSeconds } = asked;
  const ownEnd = createdAt.getTime() + expiresInSeconds * 1000;
  const expiresAt = new Date(Math.min(ownEnd, caller.expiresAt ?? Number.POSITIVE_INFINITY));
  await scope.rows(insert, {
    id: newId(),
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
  return { token, expiresAt };
}
