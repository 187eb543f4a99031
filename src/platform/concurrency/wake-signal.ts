/** Wakes one waiter, whether it waits already or is about to: a signal that is set while the waiter reads is not missed. */
export class WakeSignal {
  #isSet = false;
  #wake: (() => void) | undefined;

  /** Ends the wait; without one, the next wait ends immediately. */
  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Resolves when the signal has been set since the last wait, after `withinMs`, or when `stop` is aborted. */
  wait(withinMs: number, stop?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        stop?.removeEventListener('abort', wake);
        this.#wake = undefined;
        this.#isSet = false;
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      stop?.addEventListener('abort', wake);
      this.#wake = wake;
      if (this.#isSet || stop?.aborted) wake();
    });
  }
}
