/** Rings when there may be first attempts to make. Where nobody in this process makes them, nobody hears it. */
export class DeliveryBell {
  #listener: (() => void) | undefined;

  onRing(listener: () => void): void {
    this.#listener = listener;
  }

  wake(): void {
    this.#listener?.();
  }
}
