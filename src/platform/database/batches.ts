/**
 * Maximum rows that one statement of a sweep changes, so that none comes near its time limit or holds locks for long.
 */
const defaultSize = 500;

/**
 * Repeats work on batches until one is not full.
 * @param work changes at most `limit` items and resolves with how many it changed
 * @returns how many items were changed in all
 */
export async function inBatches(work: (limit: number) => Promise<number>, size = defaultSize): Promise<number> {
  for (let total = 0; ; ) {
    const changed = await work(size);
    total += changed;
    if (changed < size) return total;
  }
}
