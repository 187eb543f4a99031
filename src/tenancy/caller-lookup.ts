import type { Caller } from './caller.ts';
import type { CallerCache } from './caller-cache.ts';
import { unauthorized } from './refusals.ts';

/** Asks the database. @returns undefined for an unknown or revoked key */
type FindCaller = (hash: Buffer) => Promise<Omit<Caller, 'generation'> | undefined>;

/** Finds callers by the hash of their credentials, in this process's cache if possible. */
export class CallerLookup {
  readonly #cache: CallerCache;
  readonly #find: FindCaller;
  readonly #flights = new Map<string, Promise<Caller>>();

  constructor(cache: CallerCache, find: FindCaller) {
    this.#cache = cache;
    this.#find = find;
  }

  /** The caller, if it is known without asking the database. @throws AppError unauthorized */
  recall(hash: string): Caller | undefined {
    const cached = this.#cache.get(hash);
    if (cached) return cached;
    if (this.#cache.isRefused(hash)) throw unauthorized('invalid_api_key');
    return undefined;
  }

  /** Asks the database. @throws AppError unauthorized */
  async lookUp(hash: string): Promise<Caller> {
    const { generation } = this.#cache;
    // Concurrent requests share a query, but not across a change of keys.
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
    const found = await this.#find(Buffer.from(hash, 'base64'));
    if (!found) {
      this.#cache.refuse(hash, generation);
      throw unauthorized('invalid_api_key');
    }
    const caller = Object.assign(found, { generation });
    this.#cache.put(hash, caller);
    return caller;
  }
}
