import type { Part } from './holding.ts';
import { PARTS } from './holding.ts';

interface Stoppable {
  stop(options?: { hasty?: boolean }): Promise<void>;
}

export interface Shutdown {
  /** Adds a running part. */
  add(part: Part, running: Stoppable): void;
  /**
   * Stops all parts in order (app, Temporal, PostgreSQL), even if one fails to stop. A second call with `hasty` shortens the
   * delays of the current part and those after it.
   * Rejects at the end if a part did not stop.
   */
  run(options?: { hasty?: boolean }): Promise<void>;
}

/** Collects the running parts of the stack in any order, and stops them in theirs. */
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
        // A failure is reported by the stop that is already in progress.
        progress.current?.stop({ hasty }).catch(() => {});
      }
      progress.done ??= stopAll();
      return progress.done;
    },
  };
}
