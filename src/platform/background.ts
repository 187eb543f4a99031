import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from './log.ts';

/**
 * Work that goes on after its request was answered. Losing it loses nothing, because the outbox owes it too; it is
 * tracked so that a draining process can let it end.
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
        (error) => this.#log.warn({ err: error, what }, 'background work failed; the outbox still owes it'),
      )
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Begins the work once what answers the request has had its turn: work takes time from the first line on. */
  runAfterAnswer(what: string, work: () => Promise<unknown>): void {
    this.run(what, nextTurn().then(work));
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }
}
