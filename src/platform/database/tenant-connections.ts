import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';

/**
 * The share of a pool that one organization may have: the rest serves the others while its transactions wait for each
 * other.
 */
const sharePerOrganization = 0.6;
const maxWaitMs = 10_000;
const maxWaiting = 2_000;
/** Between two attempts of patient work to get a connection. */
const pauseMs = 250;

interface Line {
  lent: number;
  waiting: (() => void)[];
}

/** Whether the caller already has a connection. A caller that needs a second must not wait for its own first. */
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
   * @param patienceMs how long further attempts to get one begin, after the first has failed
   * @throws Error when none is free in time; whatever `work` throws
   */
  async lend<Result>(
    organizationId: string,
    work: (client: PoolClient) => Promise<Result>,
    patienceMs = 0,
  ): Promise<Result> {
    if (holdsConnection.getStore()) return work(await this.#pool.connect());
    const client = await this.#take(organizationId, performance.now() + patienceMs);
    try {
      return await holdsConnection.run(true, () => work(client));
    } finally {
      this.#leave(organizationId);
    }
  }

  /** Enters the organization's line and connects. Between two attempts the place in the line is free for others. */
  async #take(organizationId: string, until: number): Promise<PoolClient> {
    for (;;) {
      try {
        return await this.#connect(organizationId);
      } catch (error) {
        if (performance.now() + pauseMs > until) throw error;
      }
      await sleep(pauseMs);
    }
  }

  async #connect(organizationId: string): Promise<PoolClient> {
    await this.#enter(organizationId);
    try {
      return await this.#pool.connect();
    } catch (error) {
      this.#leave(organizationId);
      throw error;
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
