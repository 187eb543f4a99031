import type { ActionProgress } from '../../temporal/contracts/integrations.ts';

/** How long a result is kept for its workflow. */
const keptMs = 60_000;

/**
 * Attempts that this process makes while Temporal starts the workflow of the action. The workflow takes the result from here
 * if this process executes it; otherwise the row has the time until which the attempt may take.
 */
export class StartedActions {
  readonly #begun = new Map<string, Promise<ActionProgress>>();

  /** @param progress the result; after a rejection the workflow tries again */
  add(actionId: string, progress: Promise<ActionProgress>): void {
    this.#begun.set(actionId, progress);
    const forget = () => void setTimeout(() => this.#begun.delete(actionId), keptMs).unref();
    progress.then(forget, forget);
  }

  /** @returns undefined where this process has not begun it */
  find(actionId: string): Promise<ActionProgress> | undefined {
    return this.#begun.get(actionId);
  }
}
