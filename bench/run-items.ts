import type { Pool } from 'pg';
import { Cleanup } from './cleanup.ts';
import type { Choice, Finding, Item } from './item.ts';
import type { Stand } from './stand.ts';

/** What became of an item. */
export type Outcome = { item: Item; findings: Finding[] } | { item: Item; error: unknown };

/** The servers that several items share. */
export interface SharedStand {
  stand: Stand;
  pool: Pool;
}

export interface RunOptions {
  chosen: readonly Item[];
  choice: Choice;
  /** The cleanup of the whole bench. Each item has its own, which runs when the item ends or with this one. */
  cleanup: Cleanup;
  openStand(): Promise<SharedStand>;
  /** Restores the shared servers: no work of the previous item is left, and tables have statistics. */
  settle(pool: Pool): Promise<void>;
  /** Called after each item. */
  report(outcome: Outcome): void;
  /** Called for an item that is left out. */
  leaveOut(item: Item): void;
  /** Whether there is time for another item. */
  hasTime(): boolean;
}

/**
 * Measures the items one after another. One that fails, in itself or in its clean-up, is reported, and the others still run.
 * @returns whether all succeeded
 */
export async function runItems(options: RunOptions): Promise<boolean> {
  const { chosen, choice, cleanup, report } = options;
  let haveAllSucceeded = true;
  const measure = async (item: Item, run: (own: Cleanup) => Promise<Finding[]>) => {
    if (!options.hasTime()) return options.leaveOut(item);
    const own = new Cleanup();
    cleanup.add(() => {
      own.interrupt();
      return own.run();
    });
    try {
      report({ item, findings: await run(own) });
    } catch (error) {
      haveAllSucceeded = false;
      report({ item, error });
    }
    try {
      await own.run();
    } catch (error) {
      haveAllSucceeded = false;
      report({ item, error: new Error(`The clean-up after ${item.name} failed.`, { cause: error }) });
    }
  };

  const onStand = chosen.filter((item) => item.needs === 'stand');
  if (onStand.length > 0) {
    // One that could not be opened fails for every item that needs it, and is not tried again.
    const opening = options.openStand();
    opening.catch(() => {});
    for (const item of onStand) {
      await measure(item, async (own) => {
        const { stand, pool } = await opening;
        own.add(() => options.settle(pool));
        return item.run(stand, own, choice);
      });
    }
    await cleanup.run();
  }
  for (const item of chosen) if (item.needs === 'nothing') await measure(item, (own) => item.run(own));
  return haveAllSucceeded;
}
