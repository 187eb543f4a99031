import type { Part } from './holding.ts';
import { PARTS } from './holding.ts';

export interface Stoppable {
  stop(options?: { hasty?: boolean }): Promise<void>;
}

export interface Shutdown {
  /** A part that runs now, and has to be stopped. */
  add(part: Part, running: Stoppable): void;
  /**
   * Stops all parts in their order (app, Temporal, PostgreSQL), each also when one before it would not stop. Called again with `hasty`
   * while it works, it hurries the part it waits for and those after it.
   * Rejects at the end when a part would not stop.
   */
  run(options?: { hasty?: boolean }): Promise<void>;
}

/** Collects the parts of the stack as they come up, in any order, and brings them down in theirs. */
export function createShutdown(log: (line: string) => void): Shutdown {
  const parts = new Map<Part, Stoppable>();
  const progress: { hasty: boolean; current?: Stoppable; done?: Promise<void> } = { hasty: false };

  async function stopAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const name of PARTS) {
      const part = parts.get(name);
      if (part === undefined) continue;
      progress.current = part;
      log(`Stopping ${name}`);
      await part.stop({ hasty: progress.hasty }).catch((error) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.map((error) => (error as Error).message).join(' '));
  }

  return {
    add: (part, running) => void parts.set(part, running),
    run({ hasty = false } = {}) {
      if (hasty && !progress.hasty) {
        progress.hasty = true;
        // Its own failure is reported by the stop that is already under way.
        progress.current?.stop({ hasty }).catch(() => {});
      }
      progress.done ??= stopAll();
      return progress.done;
    },
  };
}
