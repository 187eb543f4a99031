/** Wakes the matcher of this process, if it has one, when events may be open or runs are to be started. */
export class EventWakeup {
  #listener: (() => void) | undefined;

  onWake(listener: () => void): void {
    this.#listener = listener;
  }

  wake(): void {
    this.#listener?.();
  }
}
