import { randomBytes } from 'node:crypto';
import { statement, type TenantSql } from '../database/sql.ts';
import { WakeSignal } from './wake-signal.ts';

/** How often a waiter polls: a notification can be lost, and a deleted row sends none. */
const lookAgainMs = 2_000;

const notifyStatement = statement({
  name: 'waiters.notify',
  parameters: { channel: 'text', id: 'text' },
  text: 'select pg_notify(:channel, :id) where :organizationId is not null and :environment is not null',
});

/** A subscription to the changes of a resource. It misses no change after its creation. */
export interface Watch {
  /** Resolves when the resource may have changed since the last time, after `withinMs`, or when `giveUp` is aborted. */
  changed(withinMs: number, giveUp: AbortSignal): Promise<void>;
  close(): void;
}

/** Requests of this process that wait for a resource to change: a run, or a generation. */
export class Waiters {
  /** The channel on which other processes send the ids of resources that this one waits for. */
  readonly channel: string;
  readonly #waiting = new Map<string, Set<WakeSignal>>();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** @param kind of the resources, in letters: the name of the channel begins with it */
  constructor(kind: string) {
    this.channel = `${kind}_waiters_${randomBytes(8).toString('hex')}`;
  }

  /** Wakes the requests of this process that wait for the resource. Call it after the commit: they read the resource. */
  notifyLocal(id: string): void {
    for (const signal of this.#waiting.get(id) ?? []) signal.set();
  }

  /** The channel that notifies the waiter of another process; null when the waiter is in this process, or there is none. */
  remoteChannel(waiter: string | null): string | null {
    return waiter === this.channel ? null : waiter;
  }

  /** Wakes the request of another process that waits for the resource, once the transaction of `sql` commits. */
  async notifyRemote(sql: TenantSql, id: string, waiter: string | null): Promise<void> {
    const channel = this.remoteChannel(waiter);
    if (channel !== null) await sql.rows(notifyStatement, { channel, id });
  }

  /** Whether a request waits, or began to wait within the last `ms`. */
  waitedWithin(ms: number): boolean {
    return this.#waiting.size > 0 || performance.now() - this.#lastAt < ms;
  }

  /**
   * Waits until `look` finds something. Registers before it returns, so that an end before the caller awaits is not
   * missed. Calls `look` whenever the resource may have changed.
   * @param look resolves with undefined while there is nothing to find
   * @param looksFirst whether it may have happened before
   * @returns undefined when `timeoutMs` passed first, or `giveUp` was aborted
   */
  async wait<Found>(
    id: string,
    look: () => Promise<Found | undefined>,
    timeoutMs: number,
    giveUp: AbortSignal,
    looksFirst = false,
  ): Promise<Found | undefined> {
    const deadline = performance.now() + timeoutMs;
    const watch = this.watch(id);
    try {
      for (let waits = !looksFirst; ; waits = true) {
        const left = deadline - performance.now();
        if (waits) await watch.changed(Math.max(0, Math.min(left, lookAgainMs)), giveUp);
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
    const signal = new WakeSignal();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(signal));
    return {
      changed: (withinMs, giveUp) => signal.wait(withinMs, giveUp),
      close: () => {
        waiting.delete(signal);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      },
    };
  }

  /** Resolves when the resource may have changed, after `withinMs`, or when `giveUp` is aborted. */
  async waitForChange(id: string, withinMs: number, giveUp: AbortSignal): Promise<void> {
    const watch = this.watch(id);
    await watch.changed(withinMs, giveUp);
    watch.close();
  }
}
