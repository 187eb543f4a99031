/**
 * Does the work of all items, one after the other.
 * @throws the first failure, after the others were tried
 */
export async function attemptAll<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
