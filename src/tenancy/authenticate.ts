import type { Background } from '../platform/background.ts';
import type { Database } from '../platform/database.ts';
import { AppError } from '../platform/errors.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Caller } from './caller.ts';
import { limitsOf } from './core/plans.ts';
import type { CachedKey, KeyCache } from './key-cache.ts';
import { hashKey, keyEnvironment } from './key-format.ts';

export type KeyRefusal = 'missing_api_key' | 'invalid_api_key' | 'expired_api_key';

const messages: Record<KeyRefusal, string> = {
  missing_api_key: 'No API key was sent. Send it as "Authorization: Bearer <key>".',
  invalid_api_key: 'The API key is not valid.',
  expired_api_key: 'The API key has expired.',
};

export const unauthorized = (reason: KeyRefusal) => new AppError('unauthorized', messages[reason], { reason });

/** `last used` may lag by 60 s. Half of that is the interval at which it is written. */
const touchEveryMs = 30_000;

interface KeyRow extends Omit<Caller, 'limits'> {
  rateMinute: number | null;
  rateDay: number | null;
  expiresAt: Date | null;
  revoked: boolean;
}

const findKey = statement<KeyRow>(
  'api_key.by_hash',
  `select k.id as "keyId", k.organization_id as "organizationId", o.name as "organizationName", o.plan,
          o.rate_minute as "rateMinute", o.rate_day as "rateDay",
          k.environment, k.scopes, k.variant, k.expires_at as "expiresAt", k.revoked_at is not null as revoked
     from api_key k join organization o on o.id = k.organization_id
    where k.hash = $1`,
);

const touchKey = statement('api_key.touch', 'update api_key set last_used_at = clock_timestamp() where id = $1');

/** Finds the caller of a key, in this process's cache if possible. */
export class Authenticator {
  readonly #database: Database;
  readonly #cache: KeyCache;
  readonly #background: Background;
  readonly #touched = new Map<string, number>();
  readonly #flights = new Map<string, Promise<CachedKey>>();

  constructor(database: Database, cache: KeyCache, background: Background) {
    this.#database = database;
    this.#cache = cache;
    this.#background = background;
  }

  /**
   * Malformed keys are rejected without a query.
   * @throws AppError unauthorized, with facts `{reason}`
   */
  async authenticate(key: string | undefined): Promise<Caller> {
    if (!key) throw unauthorized('missing_api_key');
    if (keyEnvironment(key) === undefined) throw unauthorized('invalid_api_key');
    const hash = hashKey(key);
    const { caller, expiresAt } = await this.#lookUp(hash);
    if (expiresAt !== null && expiresAt <= Date.now()) throw unauthorized('expired_api_key');
    this.#touch(caller.keyId);
    return caller;
  }

  async #lookUp(hash: Buffer): Promise<CachedKey> {
    const name = hash.toString('base64');
    const cached = this.#cache.get(name);
    if (cached) return cached;
    if (this.#cache.isRefused(name)) throw unauthorized('invalid_api_key');
    const { generation } = this.#cache;
    // Concurrent requests share a query, but not across an invalidation of the cache.
    const flight = `${generation} ${name}`;
    const asked = this.#flights.get(flight) ?? this.#ask(hash, name, generation);
    this.#flights.set(flight, asked);
    try {
      return await asked;
    } finally {
      this.#flights.delete(flight);
    }
  }

  async #ask(hash: Buffer, name: string, generation: number): Promise<CachedKey> {
    const row = await sqlOn(this.#database.pool).one(findKey, [hash]);
    if (!row || row.revoked) {
      this.#cache.refuse(name, generation);
      throw unauthorized('invalid_api_key');
    }
    const { revoked, expiresAt, rateMinute, rateDay, ...caller } = row;
    const limits = limitsOf(caller.plan, { rateMinute, rateDay });
    const entry = { caller: { ...caller, limits }, expiresAt: expiresAt?.getTime() ?? null };
    this.#cache.put(name, entry, generation);
    return entry;
  }

  #touch(keyId: string): void {
    const now = performance.now();
    if (now - (this.#touched.get(keyId) ?? Number.NEGATIVE_INFINITY) < touchEveryMs) return;
    this.#touched.set(keyId, now);
    this.#background.run('last use of a key', sqlOn(this.#database.pool).rows(touchKey, [keyId]));
  }
}
