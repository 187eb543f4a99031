import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Log } from '../observability/log.ts';

/**
 * Work that continues after its request was answered. A process that dies loses none of it, because the outbox has it
 * too; it is tracked so that a process can wait for it before it stops.
 */
export class Background {
  readonly #log: Log;
  readonly #running = new Set<Promise<void>>();

  constructor(log: Log) {
    this.#log = log;
  }

  run(what: string, work: Promise<unknown>): void {
    const tracked: Promise<void> = work
      .then(
        () => {},
        (error) => this.#log.warn({ err: error, what }, 'background work failed; the drain will retry it'),
      )
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Begins the work after the answer of the request: work takes time from the first line on. */
  runAfterAnswer(what: string, work: () => Promise<unknown>): void {
    this.run(what, yieldToEventLoop().then(work));
  }

  /** Waits until no work is left, including work that running work begins. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
