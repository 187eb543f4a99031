import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { Caller, Variant } from '../caller.ts';
import { CallerCache } from '../caller-cache.ts';
import { CallerLookup } from '../caller-lookup.ts';
import { limitsOf } from '../core/limits.ts';
import type { PlanName } from '../core/plans.ts';
import type { LimitLookUp } from '../failed-authentications.ts';
import type { KeyChanges } from '../key-changes.ts';
import { hashKeyAsText, isToken } from '../key-format.ts';
import type { OpenSessions } from '../open-sessions.ts';
import { unauthorized } from '../refusals.ts';
import { sessionOfToken } from './token-session.ts';

// A token of a key has the scopes that the key still has, and ends with it. Whether its session continues is checked
// separately.
const findToken = systemStatement({
  name: 'browser_token.by_hash',
  parameters: { hash: 'bytea' },
  row: {
    id: 'uuid',
    keyId: 'uuid?',
    sessionId: 'uuid?',
    userId: 'uuid?',
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
  text: `select t.id, t.key_id as "keyId", t.session_id as "sessionId", t.user_id as "userId", t.organization_id as "organizationId", o.name as "organizationName", o.plan,
          o.rate_minute as "rateMinute", o.rate_day as "rateDay", t.environment,
          case when k.id is null then t.scopes
            else array(select unnest(t.scopes) intersect select unnest(k.scopes)) end as scopes,
          coalesce(k.variant, 'A') as variant,
          least(t.expires_at, k.expires_at) as "expiresAt", t.run_ids as "runIds", t.workflow_ids as "workflowIds",
          t.batch_id as "batchId", t.tags, t.origins, t.max_uses as "maxUses"
     from browser_token t
     left join api_key k on k.id = t.key_id and k.revoked_at is null
     join organization o on o.id = t.organization_id and o.deleted_at is null
    where t.hash = :hash and (k.id is not null or t.session_id is not null)`,
});

const countUse = systemStatement({
  name: 'browser_token.use',
  parameters: { id: 'uuid' },
  row: { uses: 'int' },
  text: `update browser_token set uses = uses + 1
    where id = :id and uses < max_uses and expires_at > atelier_now() returning uses`,
});

/** Finds the callers of browsers' tokens, and counts the uses of tokens with a maximum number. */
export class TokenAuthenticator {
  readonly #database: Database;
  readonly #sessions: OpenSessions;
  readonly #lookup: CallerLookup;

  constructor(database: Database, changes: KeyChanges, sessions: OpenSessions) {
    this.#database = database;
    this.#sessions = sessions;
    this.#lookup = new CallerLookup(new CallerCache(changes), (hash) => this.#find(hash));
  }

  /**
   * The caller of a token, whether or not it has ended: for its origins see `admitsOrigin`, and for its end `checkEnd`.
   * @throws AppError unauthorized for a token that is unknown, whose key was revoked, or whose session does not go on
   */
  find(token: string, limit: LimitLookUp): Caller | Promise<Caller> {
    if (!isToken(token)) throw unauthorized('invalid_api_key');
    const hash = hashKeyAsText(token);
    const caller = this.#lookup.recall(hash);
    if (!caller) return limit(() => this.#lookup.lookUp(hash)).then((found) => this.#checkSession(found));
    return caller.token?.session ? this.#checkSession(caller) : caller;
  }

  /** Counts an accepted request. @throws AppError unauthorized when the token is used up */
  async countUse({ token }: Caller): Promise<void> {
    if (!token?.isCounted) return;
    const counted = await sqlOn(this.#database.pool).one(countUse, { id: token.id });
    if (!counted) throw unauthorized('expired_api_key');
  }

  /** Sessions are cached nowhere: their end, and that of a membership, is effective at once. */
  async #checkSession(caller: Caller): Promise<Caller> {
    const session = caller.token?.session;
    if (!session) return caller;
    const [isOpen] = await this.#sessions.areOpen([sessionOfToken(session, caller.organizationId)]);
    if (!isOpen) throw unauthorized('invalid_api_key');
    return caller;
  }

  async #find(hash: Buffer): Promise<Omit<Caller, 'generation'> | undefined> {
    const row = await sqlOn(this.#database.pool).one(findToken, { hash });
    if (!row) return undefined;
    const { id, sessionId, userId, runIds, workflowIds, batchId, tags, origins, maxUses, ...caller } = row;
    const { expiresAt, rateMinute, rateDay, ...found } = caller;
    const isRestricted = runIds !== null || workflowIds !== null || batchId !== null || tags !== null;
    return Object.assign(found, {
      limits: limitsOf(found.plan, { rateMinute, rateDay }),
      expiresAt: expiresAt.getTime(),
      token: {
        id,
        session: sessionId === null || userId === null ? null : { id: sessionId, userId },
        origins,
        isCounted: maxUses !== null,
        runs: isRestricted ? { runIds, workflowIds, batchId, tags } : null,
      },
    });
  }
}
