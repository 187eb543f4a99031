import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { Caller, Variant } from '../caller.ts';
import { CallerLookup } from '../caller-lookup.ts';
import { limitsOf } from '../core/limits.ts';
import type { PlanName } from '../core/plans.ts';
import type { KeyCache } from '../key-cache.ts';
import { hashKeyAsText, isToken } from '../key-format.ts';
import { unauthorized } from '../refusals.ts';

// A token has the scopes that its key still has, and ends with it.
const findToken = systemStatement({
  name: 'browser_token.by_hash',
  parameters: { hash: 'bytea' },
  row: {
    id: 'uuid',
    keyId: 'uuid',
    organizationId: 'uuid',
    organizationName: 'text',
    plan: typed<PlanName>('text'),
    rateMinute: 'int?',
    rateDay: 'int?',
    environment: typed<Environment>('text'),
    scopes: 'text[]',
    variant: typed<Variant>('text'),
    expiresAt: 'timestamptz',
    runIds: 'uuid[]?',
    workflowIds: 'uuid[]?',
    batchId: 'uuid?',
    tags: 'text[]?',
    origins: 'text[]?',
    maxUses: 'int?',
  },
  text: `select t.id, t.key_id as "keyId", t.organization_id as "organizationId", o.name as "organizationName", o.plan,
          o.rate_minute as "rateMinute", o.rate_day as "rateDay", t.environment,
          array(select unnest(t.scopes) intersect select unnest(k.scopes)) as scopes, k.variant,
          least(t.expires_at, k.expires_at) as "expiresAt", t.run_ids as "runIds", t.workflow_ids as "workflowIds",
          t.batch_id as "batchId", t.tags, t.origins, t.max_uses as "maxUses"
     from browser_token t
     join api_key k on k.id = t.key_id and k.revoked_at is null
     join organization o on o.id = t.organization_id and o.deleted_at is null
    where t.hash = :hash`,
});

const countUse = systemStatement({
  name: 'browser_token.use',
  parameters: { id: 'uuid' },
  row: { uses: 'int' },
  text: `update browser_token set uses = uses + 1
    where id = :id and uses < max_uses and expires_at > clock_timestamp() returning uses`,
});

/** Finds the callers of browsers' tokens, and counts the uses of those that have a number of them. */
export class TokenAuthenticator {
  readonly #database: Database;
  readonly #lookup: CallerLookup;

  constructor(database: Database, cache: KeyCache) {
    this.#database = database;
    this.#lookup = new CallerLookup(cache, (hash) => this.#find(hash));
  }

  /**
   * The caller of a token, whether or not it has ended: for its origins see `admitsOrigin`, and for its end `checkEnd`.
   * @throws AppError unauthorized for a token that is unknown, or whose key was revoked
   */
  find(token: string): Caller | Promise<Caller> {
    if (!isToken(token)) throw unauthorized('invalid_api_key');
    const hash = hashKeyAsText(token);
    return this.#lookup.recall(hash) ?? this.#lookup.lookUp(hash);
  }

  /** Counts an accepted request. @throws AppError unauthorized when the token is used up */
  async countUse({ token }: Caller): Promise<void> {
    if (!token?.isCounted) return;
    const counted = await sqlOn(this.#database.pool).one(countUse, { id: token.id });
    if (!counted) throw unauthorized('expired_api_key');
  }

  async #find(hash: Buffer): Promise<Omit<Caller, 'generation'> | undefined> {
    const row = await sqlOn(this.#database.pool).one(findToken, { hash });
    if (!row) return undefined;
    const { id, expiresAt, rateMinute, rateDay, runIds, workflowIds, batchId, tags, origins, maxUses, ...found } = row;
    const isRestricted = runIds !== null || workflowIds !== null || batchId !== null || tags !== null;
    return Object.assign(found, {
      limits: limitsOf(found.plan, { rateMinute, rateDay }),
      expiresAt: expiresAt.getTime(),
      token: {
        id,
        origins,
        isCounted: maxUses !== null,
        runs: isRestricted ? { runIds, workflowIds, batchId, tags } : null,
      },
    });
  }
}
