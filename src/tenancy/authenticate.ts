import { clock } from '../platform/clock.ts';
import type { Background } from '../platform/concurrency/background.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Environment } from '../platform/tenant.ts';
import type { Caller, Variant } from './caller.ts';
import { CallerCache } from './caller-cache.ts';
import { CallerLookup } from './caller-lookup.ts';
import { limitsOf } from './core/limits.ts';
import type { PlanName } from './core/plans.ts';
import type { LimitLookUp } from './failed-authentications.ts';
import type { KeyChanges } from './key-changes.ts';
import { hashKeyAsText, keyEnvironment } from './key-format.ts';
import { RecentUses } from './recent-uses.ts';
import { unauthorized } from './refusals.ts';

/** `last used` may lag by 60 s. Half of that is the interval at which it is written. */
const touchEveryMs = 30_000;

const findKey = systemStatement({
  name: 'api_key.by_hash',
  parameters: { hash: 'bytea' },
  row: {
    keyId: 'uuid',
    organizationId: 'uuid',
    organizationName: 'text',
    plan: typed<PlanName>('text'),
    rateMinute: 'int?',
    rateDay: 'int?',
    environment: typed<Environment>('text'),
    scopes: 'text[]',
    variant: typed<Variant>('text'),
    expiresAt: 'timestamptz?',
    revoked: 'boolean',
  },
  text: `select k.id as "keyId", k.organization_id as "organizationId", o.name as "organizationName", o.plan,
          o.rate_minute as "rateMinute", o.rate_day as "rateDay",
          k.environment, k.scopes, k.variant, k.expires_at as "expiresAt", k.revoked_at is not null
            or o.deleted_at is not null as revoked
     from api_key k join organization o on o.id = k.organization_id
    where k.hash = :hash`,
});

const touchKey = systemStatement({
  name: 'api_key.touch',
  parameters: { keyId: 'uuid' },
  text: 'update api_key set last_used_at = atelier_now() where id = :keyId',
});

/** @throws AppError unauthorized when what the caller sent has expired */
export function checkEnd({ expiresAt }: Caller): void {
  if (expiresAt !== null && expiresAt <= clock.now()) throw unauthorized('expired_api_key');
}

/** Finds the caller of a key, in this process's cache if possible. Tokens of browsers are no keys here. */
export class Authenticator {
  readonly #database: Database;
  readonly #lookup: CallerLookup;
  readonly #background: Background;
  readonly #uses = new RecentUses(touchEveryMs);
  /**
   * The last well-formed key and its hash: each request is checked twice, and usually the next one has the same key.
   */
  #last = { key: '', hash: '' };

  constructor(database: Database, changes: KeyChanges, background: Background) {
    this.#database = database;
    this.#lookup = new CallerLookup(new CallerCache(changes), (hash) => this.#find(hash));
    this.#background = background;
  }

  /**
   * Malformed keys are rejected without a query. The answer is a promise only if the database must be asked, and
   * refusals without it throw at once, so that a flood of requests costs little.
   * @throws AppError unauthorized, with facts `{reason}`
   */
  authenticate(key: string | undefined, limit: LimitLookUp): Caller | Promise<Caller> {
    const known = this.recall(key);
    if (known) return known;
    const { hash } = this.#last;
    return limit(() => this.#lookup.lookUp(hash)).then((caller) => this.#admit(caller));
  }

  /**
   * The caller of a key, if it is known without asking the database.
   * @throws AppError unauthorized, as `authenticate` does
   */
  recall(key: string | undefined): Caller | undefined {
    if (!key) throw unauthorized('missing_api_key');
    if (key !== this.#last.key) {
      if (keyEnvironment(key) === undefined) throw unauthorized('invalid_api_key');
      this.#last = { key, hash: hashKeyAsText(key) };
    }
    const cached = this.#lookup.recall(this.#last.hash);
    return cached && this.#admit(cached);
  }

  #admit(caller: Caller): Caller {
    checkEnd(caller);
    if (caller.keyId !== null && this.#uses.begin(caller.keyId)) this.#touch(caller.keyId);
    return caller;
  }

  async #find(hash: Buffer): Promise<Omit<Caller, 'generation'> | undefined> {
    const row = await sqlOn(this.#database.pool).one(findKey, { hash });
    if (!row || row.revoked) return undefined;
    const { revoked, expiresAt, rateMinute, rateDay, ...found } = row;
    return {
      ...found,
      limits: limitsOf(found.plan, { rateMinute, rateDay }),
      expiresAt: expiresAt?.getTime() ?? null,
    };
  }

  #touch(keyId: string): void {
    this.#background.run('last use of a key', sqlOn(this.#database.pool).rows(touchKey, { keyId }));
  }
}
