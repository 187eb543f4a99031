import { randomBytes } from 'node:crypto';

/** How often a waiter looks for itself: a notification may be lost, and a deleted run sends none. */
const lookAgainMs = 2_000;

/** Requests of this process that wait for news of a run. */
export class RunWaiters {
  /** Where other processes send the ids of runs that this one waits for. */
  readonly channel = `run_waiters_${randomBytes(8).toString('hex')}`;
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Wakes whoever waits for this run: something happened to it, its end perhaps. */
  tell(runId: string): void {
    for (const wake of this.#waiting.get(runId) ?? []) wake();
  }

  /**
   * Registered at once, so that an end that comes before the caller awaits is not missed. Calls `look` whenever there
   * is a sign that the run may have ended.
   * @param look what the caller waits for, or undefined while it is not there
   * @returns undefined when `timeoutMs` went by first, or `giveUp` was aborted
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

  /** Resolves at the next news of the run that this process hears of, or after a time, or when `giveUp` is aborted. */
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
