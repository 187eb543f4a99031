import type { Database } from '../platform/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { PlanName } from './core/plans.ts';
import type { KeyScope } from './core/scopes.ts';
import { hashKey, keyEnvironment } from './key-format.ts';
import type { Variant } from './keys.ts';

/** Who calls: an organization's key, and what it may do. */
export interface Caller {
  keyId: string;
  organizationId: string;
  organizationName: string;
  plan: PlanName;
  environment: Environment;
  scopes: KeyScope[];
  variant: Variant;
}

export type KeyRefusal = 'missing_api_key' | 'invalid_api_key' | 'expired_api_key';

const messages: Record<KeyRefusal, string> = {
  missing_api_key: 'No API key was sent. Send it as "Authorization: Bearer <key>".',
  invalid_api_key: 'The API key is not valid.',
  expired_api_key: 'The API key has expired.',
};

export const unauthorized = (reason: KeyRefusal) => new AppError('unauthorized', messages[reason], { reason });

/** `last used` may lag by this much: most requests then write nothing. */
const lastUsedLagSeconds = 60;

interface KeyRow extends Caller {
  expired: boolean;
  revoked: boolean;
  stale: boolean;
}

const findKey = statement<KeyRow>(
  'api_key.by_hash',
  `select k.id as "keyId", k.organization_id as "organizationId", o.name as "organizationName", o.plan,
          k.environment, k.scopes, k.variant,
          k.revoked_at is not null as revoked,
          coalesce(k.expires_at <= clock_timestamp(), false) as expired,
          coalesce(k.last_used_at < clock_timestamp() - make_interval(secs => $2 / 2.0), true) as stale
     from api_key k join organization o on o.id = k.organization_id
    where k.hash = $1`,
);

const touchKey = statement(
  'api_key.touch',
  `update api_key set last_used_at = clock_timestamp()
    where id = $1 and coalesce(last_used_at < clock_timestamp() - make_interval(secs => $2 / 2.0), true)`,
);

/**
 * Finds out whose key this is. A malformed key costs no query.
 * @throws AppError unauthorized, with facts `{reason}`
 */
export async function authenticate(database: Database, key: string | undefined): Promise<Caller> {
  if (!key) throw unauthorized('missing_api_key');
  if (keyEnvironment(key) === undefined) throw unauthorized('invalid_api_key');
  const sql = sqlOn(database.pool);
  const row = await sql.one(findKey, [hashKey(key), lastUsedLagSeconds]);
  if (!row || row.revoked) throw unauthorized('invalid_api_key');
  if (row.expired) throw unauthorized('expired_api_key');
  if (row.stale) await sql.rows(touchKey, [row.keyId, lastUsedLagSeconds]);
  const { expired, revoked, stale, ...caller } = row;
  return caller;
}
