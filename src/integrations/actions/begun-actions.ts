import type { ActionProgress } from '../../temporal/contracts/integrations.ts';

/** How long a result is kept for a workflow that has not asked for it yet. */
const keptMs = 60_000;

/**
 * Attempts that this process makes while Temporal takes the workflow of the action. The workflow then finds them here, if it
 * is executed by this process; otherwise the row says until when they may go on.
 */
export class BegunActions {
  readonly #begun = new Map<string, Promise<ActionProgress>>();

  /** @param progress what it comes to; a rejection is the workflow's to try again */
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
