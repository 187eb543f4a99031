import { unavailable } from '../errors.ts';
import type { Tenant } from '../tenant.ts';

const maxWaiting = 1_000;

/**
 * Locks within this process, in front of those of PostgreSQL: of the transactions that need the same one, the first
 * waits in PostgreSQL for other processes, and the rest wait here, without a connection.
 */
export class LocalLocks {
  /** The waiters by the lock's name. A free lock has none. */
  readonly #held = new Map<string, (() => void)[]>();

  /** Takes all of them, or none if one is held. */
  tryTake(names: readonly string[]): boolean {
    if (names.some((name) => this.#held.has(name))) return false;
    for (const name of names) this.#held.set(name, []);
    return true;
  }

  /** Waits for each, in the order of their names, so that holders of several locks never deadlock. */
  async take(names: readonly string[]): Promise<void> {
    const taken: string[] = [];
    try {
      for (const name of names.toSorted()) {
        await this.#takeOne(name);
        taken.push(name);
      }
    } catch (error) {
      this.release(taken);
      throw error;
    }
  }

  release(names: Iterable<string>): void {
    for (const name of names) {
      const next = this.#held.get(name)?.shift();
      if (next) next();
      else this.#held.delete(name);
    }
  }

  #takeOne(name: string): Promise<void> | undefined {
    const waiting = this.#held.get(name);
    if (!waiting) {
      this.#held.set(name, []);
      return undefined;
    }
    if (waiting.length >= maxWaiting) throw unavailable('The database');
    return new Promise((resolve) => waiting.push(resolve));
  }
}

/**
 * Thrown through a transaction that needs a lock of another transaction of this process. It is rolled back and
 * restarted.
 */
export class LockHeld extends Error {
  override name = 'LockHeld';
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    super('The transaction waits for another one of this process.');
    this.names = names;
  }
}

/** The locks of one transaction, across its restarts. */
export class TransactionLocks {
  readonly #locks: LocalLocks;
  readonly #tenant: Tenant;
  readonly #mine = new Set<string>();

  constructor(locks: LocalLocks, tenant: Tenant) {
    this.#locks = locks;
    this.#tenant = tenant;
  }

  /** For a transaction that has begun. @throws LockHeld */
  require(names: readonly string[]): void {
    const missing = [...new Set(names.map((name) => this.#ofTenant(name)))].filter((name) => !this.#mine.has(name));
    if (!this.#locks.tryTake(missing)) throw new LockHeld(names);
    for (const name of missing) this.#mine.add(name);
  }

  /** Waits for these locks besides those that it holds. For a transaction that has no connection. */
  async wait(names: readonly string[]): Promise<void> {
    const all = new Set([...this.#mine, ...names.map((name) => this.#ofTenant(name))]);
    // Released first: waiters for several locks take them in one order.
    this.release();
    await this.#locks.take([...all]);
    for (const name of all) this.#mine.add(name);
  }

  release(): void {
    this.#locks.release(this.#mine);
    this.#mine.clear();
  }

  #ofTenant(name: string): string {
    return `${this.#tenant.organizationId}/${this.#tenant.environment}/${name}`;
  }
}
