/** Rings when there may be first attempts to make. Where nobody in this process makes them, nobody hears it. */
export class DeliveryWakeup {
  #listener: (() => void) | undefined;

  onWake(listener: () => void): void {
    this.#listener = listener;
  }

  wake(): void {
    this.#listener?.();
  }
}
