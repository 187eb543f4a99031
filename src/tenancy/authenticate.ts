import type { Background } from '../platform/concurrency/background.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { Caller, Variant } from './caller.ts';
import { limitsOf } from './core/limits.ts';
import type { PlanName } from './core/plans.ts';
import type { KeyCache } from './key-cache.ts';
import { hashKeyAsText, keyEnvironment } from './key-format.ts';

export type KeyRefusal = 'missing_api_key' | 'invalid_api_key' | 'expired_api_key';

const refusal = (reason: KeyRefusal, message: string) => new AppError('unauthorized', message, { reason });

// Made once: an error costs as much as the check that it reports.
const refusals: Record<KeyRefusal, AppError> = {
  missing_api_key: refusal('missing_api_key', 'No API key was sent. Send it as "Authorization: Bearer <key>".'),
  invalid_api_key: refusal('invalid_api_key', 'The API key is not valid.'),
  expired_api_key: refusal('expired_api_key', 'The API key has expired.'),
};

export const unauthorized = (reason: KeyRefusal): AppError => refusals[reason];

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
  text: 'update api_key set last_used_at = clock_timestamp() where id = :keyId',
});

/** Finds the caller of a key, in this process's cache if possible. */
export class Authenticator {
  readonly #database: Database;
  readonly #cache: KeyCache;
  readonly #background: Background;
  readonly #touched = new Map<string, number>();
  readonly #flights = new Map<string, Promise<Caller>>();
  /** The last well-formed key and its hash: requests are asked about twice, and most often the next one has the same key. */
  #last = { key: '', hash: '' };

  constructor(database: Database, cache: KeyCache, background: Background) {
    this.#database = database;
    this.#cache = cache;
    this.#background = background;
  }

  /**
   * Malformed keys are rejected without a query. The answer is a promise only where the database has to be asked, and what
   * is refused without it throws at once: both are what a flood consists of.
   * @throws AppError unauthorized, with facts `{reason}`
   */
  authenticate(key: string | undefined): Caller | Promise<Caller> {
    return this.recall(key) ?? this.#lookUp(this.#last.hash).then((caller) => this.#admit(caller));
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
    const { hash } = this.#last;
    const cached = this.#cache.get(hash);
    if (cached) return this.#admit(cached);
    if (this.#cache.isRefused(hash)) throw unauthorized('invalid_api_key');
    return undefined;
  }

  #admit(caller: Caller): Caller {
    if (caller.expiresAt !== null && caller.expiresAt <= Date.now()) throw unauthorized('expired_api_key');
    this.#touch(caller.keyId);
    return caller;
  }

  async #lookUp(hash: string): Promise<Caller> {
    const { generation } = this.#cache;
    // Concurrent requests share a query, but not across an invalidation of the cache.
    const flight = `${generation} ${hash}`;
    const asked = this.#flights.get(flight) ?? this.#ask(hash, generation);
    this.#flights.set(flight, asked);
    try {
      return await asked;
    } finally {
      this.#flights.delete(flight);
    }
  }

  async #ask(hash: string, generation: number): Promise<Caller> {
    const row = await sqlOn(this.#database.pool).one(findKey, { hash: Buffer.from(hash, 'base64') });
    if (!row || row.revoked) {
      this.#cache.refuse(hash, generation);
      throw unauthorized('invalid_api_key');
    }
    const { revoked, expiresAt, rateMinute, rateDay, ...found } = row;
    const limits = limitsOf(found.plan, { rateMinute, rateDay });
    const caller = { ...found, limits, expiresAt: expiresAt?.getTime() ?? null, generation };
    this.#cache.put(hash, caller, generation);
    return caller;
  }

  #touch(keyId: string): void {
    const now = performance.now();
    if (now - (this.#touched.get(keyId) ?? Number.NEGATIVE_INFINITY) < touchEveryMs) return;
    this.#touched.set(keyId, now);
    this.#background.run('last use of a key', sqlOn(this.#database.pool).rows(touchKey, { keyId }));
  }
}
