import type { Caller } from './caller.ts';
import type { KeyChanges } from './key-changes.ts';

/** Limits memory, separately for valid and for refused credentials. The oldest entries make way. */
const maxEntries = 10_000;

function keep<Value>(map: Map<string, Value>, hash: string, value: Value): void {
  map.delete(hash);
  for (const oldest of map.keys()) {
    if (map.size < maxEntries) break;
    map.delete(oldest);
  }
  map.set(hash, value);
}

/** What this process has looked up of one kind of credentials, by their hashes. */
export class CallerCache {
  readonly #changes: KeyChanges;
  readonly #callers = new Map<string, Caller>();
  /**
   * Unknown and revoked credentials, so that a client that keeps sending one causes no queries, and the generation in
   * which each was looked up. A change of an organization can end credentials and makes none valid, except for its
   * restoration, which is announced as a change of all.
   */
  readonly #refused = new Map<string, number>();

  constructor(changes: KeyChanges) {
    this.#changes = changes;
  }

  /** The generation in which a look-up begins: results that were read before a change are not cached after it. */
  get generation(): number {
    return this.#changes.generation;
  }

  get(hash: string): Caller | undefined {
    const caller = this.#callers.get(hash);
    return caller && this.#changes.isCurrent(caller.generation, caller.organizationId) ? caller : undefined;
  }

  put(hash: string, caller: Caller): void {
    if (this.#changes.isCurrent(caller.generation, caller.organizationId)) keep(this.#callers, hash, caller);
  }

  isRefused(hash: string): boolean {
    const generation = this.#refused.get(hash);
    return generation !== undefined && this.#changes.isCurrent(generation);
  }

  /** @param generation that in which the look-up began */
  refuse(hash: string, generation: number): void {
    if (this.#changes.isCurrent(generation)) keep(this.#refused, hash, generation);
  }
}
