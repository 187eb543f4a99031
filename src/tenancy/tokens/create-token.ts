import type { Scope } from '../../platform/database/scope.ts';
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

export interface IssuedToken {
  /** The token itself. It is returned only here. */
  token: string;
  expiresAt: Date;
}

const insert = statement({
  name: 'browser_token.create',
  parameters: {
    id: 'uuid',
    keyId: 'uuid',
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
  text: `insert into browser_token (id, organization_id, environment, key_id, hash, scopes, run_ids, workflow_ids, batch_id,
     tags, origins, max_uses, created_at, expires_at)
   values (:id, :organizationId, :environment, :keyId, :hash, :scopes, :runIds, :workflowIds, :batchId, :tags, :origins,
     :maxUses, :createdAt, :expiresAt)`,
});

/** Issues a token that may do no more than the key of `caller`, and no longer. @throws AppError forbidden for a person */
export async function createToken(scope: Scope, caller: Caller, asked: NewToken): Promise<IssuedToken> {
  const { keyId } = caller;
  if (keyId === null) throw new AppError('forbidden', 'A key makes tokens: it ends them with it.', { required: 'key' });
  const token = generateToken(scope.tenant.environment);
  const createdAt = new Date();
  const { scopes, runs, maxUses, origins, expiresInSeconds } = asked;
  const ownEnd = createdAt.getTime() + expiresInSeconds * 1000;
  const expiresAt = new Date(Math.min(ownEnd, caller.expiresAt ?? Number.POSITIVE_INFINITY));
  await scope.rows(insert, {
    id: newId(),
    keyId,
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
