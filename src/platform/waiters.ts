import { randomBytes } from 'node:crypto';
import { Bell } from './bell.ts';
import { statement, type TenantSql } from './sql.ts';

/** How often a waiter polls: a notification can be lost, and what was deleted sends none. */
const lookAgainMs = 2_000;

const notify = statement('waiters.notify', 'select pg_notify($3::text, $4::text), $1::uuid, $2::text');

/** Somebody who wants to know when a resource changes. From its creation on it misses nothing. */
export interface Watch {
  /** Resolves when the resource may have changed since the last time, after `withinMs`, or when `giveUp` is aborted. */
  changed(withinMs: number, giveUp: AbortSignal): Promise<void>;
  close(): void;
}

/** Requests of this process that wait for a resource to change: a run, or a generation. */
export class Waiters {
  /** The channel on which other processes send the ids of resources that this one waits for. */
  readonly channel: string;
  readonly #waiting = new Map<string, Set<Bell>>();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** @param kind of the resources, in letters: the name of the channel begins with it */
  constructor(kind: string) {
    this.channel = `${kind}_waiters_${randomBytes(8).toString('hex')}`;
  }

  /** Wakes the requests that wait for this resource. To be called after the commit: they read it. */
  tell(id: string): void {
    for (const bell of this.#waiting.get(id) ?? []) bell.ring();
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
    const watch = this.watch(id);
    try {
      for (;;) {
        const left = deadline - performance.now();
        await watch.changed(Math.max(0, Math.min(left, lookAgainMs)), giveUp);
        const found = await look();
        if (found !== undefined || giveUp.aborted || performance.now() >= deadline) return found;
      }
    } finally {
      watch.close();
    }
  }

  /** To be opened before the resource is read, and closed. */
  watch(id: string): Watch {
    this.#lastAt = performance.now();
    const bell = new Bell();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(bell));
    return {
      changed: (withinMs, giveUp) => bell.heard(withinMs, giveUp),
      close: () => {
        waiting.delete(bell);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      },
    };
  }

  /** Resolves when the resource may have changed, after `withinMs`, or when `giveUp` is aborted. */
  async nextSign(id: string, withinMs: number, giveUp: AbortSignal): Promise<void> {
    const watch = this.watch(id);
    await watch.changed(withinMs, giveUp);
    watch.close();
  }
}
