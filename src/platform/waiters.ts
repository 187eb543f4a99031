import { randomBytes } from 'node:crypto';
import { statement, type TenantSql } from './sql.ts';

/** How often a waiter polls: a notification can be lost, and what was deleted sends none. */
const lookAgainMs = 2_000;

const notify = statement('waiters.notify', 'select pg_notify($3::text, $4::text), $1::uuid, $2::text');

/** Requests of this process that wait for a resource to change: a run, or a generation. */
export class Waiters {
  /** The channel on which other processes send the ids of resources that this one waits for. */
  readonly channel: string;
  readonly #waiting = new Map<string, Set<() => void>>();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** @param kind of the resources, for the name of the channel */
  constructor(kind: 'run' | 'generation' | 'turn' | 'voice' | 'action') {
    this.channel = `${kind}_waiters_${randomBytes(8).toString('hex')}`;
  }

  /** Wakes the requests that wait for this resource. */
  tell(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }

  /** The channel on which a change must be announced to a waiter; null where it is in this process, or nobody waits. */
  elsewhere(waiter: string | null): string | null {
    return waiter === this.channel ? null : waiter;
  }

  /** Wakes the request that waits for a resource in another process, once the transaction of `sql` commits. */
  async announce(sql: TenantSql, id: string, waiter: string | null): Promise<void> {
    const channel = this.elsewhere(waiter);
    if (channel !== null) await sql.rows(notify, channel, id);
  }

  /** Whether somebody waits, or began to wait within so many ms. */
  waitedWithin(ms: number): boolean {
    return this.#waiting.size > 0 || performance.now() - this.#lastAt < ms;
  }

  /**
   * Waits until `look` finds something. Registers before it returns, so that an end before the caller awaits is not
   * missed. Calls `look` whenever the resource may have changed.
   * @param look resolves with undefined while there is nothing to find
   * @returns undefined when `timeoutMs` passed first, or `giveUp` was aborted
   */
  async wait<Found>(
    id: string,
    look: () => Promise<Found | undefined>,
    timeoutMs: number,
    giveUp: AbortSignal,
  ): Promise<Found | undefined> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const left = deadline - performance.now();
      await this.nextSign(id, Math.max(0, Math.min(left, lookAgainMs)), giveUp);
      const found = await look();
      if (found !== undefined || giveUp.aborted || performance.now() >= deadline) return found;
    }
  }

  /** Resolves when the resource may have changed, after `withinMs`, or when `giveUp` is aborted. */
  nextSign(id: string, withinMs: number, giveUp: AbortSignal): Promise<void> {
    this.#lastAt = performance.now();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set();
      const wake = () => {
        clearTimeout(timer);
        giveUp.removeEventListener('abort', wake);
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      giveUp.addEventListener('abort', wake);
      waiting.add(wake);
      this.#waiting.set(id, waiting);
      if (giveUp.aborted) wake();
    });
  }
}
