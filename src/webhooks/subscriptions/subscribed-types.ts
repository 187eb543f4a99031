import type { Transaction } from '../../platform/database/scope.ts';

/** @param types of events that a webhook began or ceased to listen to; `*` stands for all */
type SubscribedTypesChanged = (tx: Transaction, types: readonly string[]) => Promise<void>;

/** Notifies features whose events have to be requested, in the transaction of a webhook that begins or ceases to listen. */
export class SubscribedTypes {
  readonly #listeners: SubscribedTypesChanged[] = [];

  /** Called when a feature is opened. */
  on(changed: SubscribedTypesChanged): void {
    this.#listeners.push(changed);
  }

  async changed(tx: Transaction, types: readonly string[]): Promise<void> {
    for (const notify of this.#listeners) await notify(tx, types);
  }
}
