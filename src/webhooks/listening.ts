import type { Transaction } from '../platform/scope.ts';

/** @param types of events that a webhook began or ceased to listen to; `*` stands for all */
export type ListeningChanged = (tx: Transaction, types: readonly string[]) => Promise<void>;

/** Tells features whose events have to be asked for, in the transaction of a webhook that begins or ceases to listen. */
export class Listening {
  readonly #told: ListeningChanged[] = [];

  /** Called when a feature is opened. */
  on(changed: ListeningChanged): void {
    this.#told.push(changed);
  }

  async changed(tx: Transaction, types: readonly string[]): Promise<void> {
    for (const tell of this.#told) await tell(tx, types);
  }
}
