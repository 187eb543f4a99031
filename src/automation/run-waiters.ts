import { randomBytes } from 'node:crypto';

/** How often a waiter polls: a notification can be lost, and a deleted run sends none. */
const lookAgainMs = 2_000;

/** Requests of this process that wait for a run to change. */
export class RunWaiters {
  /** The channel on which other processes send the ids of runs that this one waits for. */
  readonly channel = `run_waiters_${randomBytes(8).toString('hex')}`;
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Wakes the requests that wait for this run. */
  tell(runId: string): void {
    for (const wake of this.#waiting.get(runId) ?? []) wake();
  }

  /**
   * Waits until `look` finds something. Registers before it returns, so that an end before the caller awaits is not
   * missed. Calls `look` whenever the run may have changed.
   * @param look resolves with undefined while there is nothing to find
   * @returns undefined when `timeoutMs` passed first, or `giveUp` was aborted
   */
  async wait<Found>(
    runId: string,
    look: () => Promise<Found | undefined>,
    timeoutMs: number,
    giveUp: AbortSignal,
  ): Promise<Found | undefined> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const left = deadline - performance.now();
      await this.nextSign(runId, Math.max(0, Math.min(left, lookAgainMs)), giveUp);
      const found = await look();
      if (found !== undefined || giveUp.aborted || performance.now() >= deadline) return found;
    }
  }

  /** Resolves when the run may have changed, after `withinMs`, or when `giveUp` is aborted. */
  nextSign(runId: string, withinMs: number, giveUp: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(runId) ?? new Set();
      const wake = () => {
        clearTimeout(timer);
        giveUp.removeEventListener('abort', wake);
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(runId);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      giveUp.addEventListener('abort', wake);
      waiting.add(wake);
      this.#waiting.set(runId, waiting);
      if (giveUp.aborted) wake();
    });
  }
}
