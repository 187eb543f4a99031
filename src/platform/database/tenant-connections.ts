import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool, PoolClient } from 'pg';

/** The share of a pool that one organization may have: what is left serves the others while its transactions wait for each other. */
const sharePerOrganization = 0.6;
const maxWaitMs = 10_000;
const maxWaiting = 2_000;

interface Line {
  lent: number;
  waiting: (() => void)[];
}

/** Whether the caller has a connection already. One that needs a second must not wait for its own first. */
const holdsConnection = new AsyncLocalStorage<true>();

/**
 * Lends connections of the tenants' pool. Transactions of one organization wait for each other, at locks and at rows that
 * they share. So that they do not wait with every connection in their hands, an organization has a part of the pool at most,
 * and requests for more wait here, in order.
 */
export class TenantConnections {
  readonly #pool: Pick<Pool, 'connect'>;
  readonly #perOrganization: number;
  readonly #waitMs: number;
  readonly #lines = new Map<string, Line>();

  constructor(pool: Pick<Pool, 'connect'>, poolSize: number, waitMs = maxWaitMs) {
    this.#pool = pool;
    this.#perOrganization = Math.max(1, Math.floor(poolSize * sharePerOrganization));
    this.#waitMs = waitMs;
  }

  /**
   * @param work gets the connection, and releases it
   * @throws Error when none is free in time; whatever `work` throws
   */
  async lend<Result>(organizationId: string, work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    if (holdsConnection.getStore()) return work(await this.#pool.connect());
    await this.#enter(organizationId);
    try {
      const client = await this.#pool.connect();
      return await holdsConnection.run(true, () => work(client));
    } finally {
      this.#leave(organizationId);
    }
  }

  async #enter(organizationId: string): Promise<void> {
    let line = this.#lines.get(organizationId);
    if (!line) {
      line = { lent: 0, waiting: [] };
      this.#lines.set(organizationId, line);
    }
    if (line.lent < this.#perOrganization) {
      line.lent++;
      return;
    }
    if (line.waiting.length >= maxWaiting) throw new Error('timeout exceeded when trying to connect');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { waiting } = line;
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(resolve), 1);
      // As the pool says it.
      reject(new Error('timeout exceeded when trying to connect'));
    }, this.#waitMs);
    waiting.push(resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  #leave(organizationId: string): void {
    const line = this.#lines.get(organizationId)!;
    // The next one takes the place over.
    const next = line.waiting.shift();
    if (next) next();
    else if (--line.lent === 0) this.#lines.delete(organizationId);
  }
}
