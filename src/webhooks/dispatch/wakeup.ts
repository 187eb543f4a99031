/** Wakes the dispatcher of this process, if it has one, when attempts may be due; or what else works on deliveries. */
export class DeliveryWakeup {
  #listener: (() => void) | undefined;

  onWake(listener: () => void): void {
    this.#listener = listener;
  }

  wake(): void {
    this.#listener?.();
  }
}
