/**
 * How much one transaction of a sweep changes, counted in the rows that belong to its items. A single item may exceed it.
 */
export const portionWeight = 10_000;

/** Divides items, in their order, into portions that each weigh no more than one transaction may change. */
export function portionsOf<Item>(items: readonly Item[], weightOf: (item: Item) => number): Item[][] {
  const portions: Item[][] = [];
  let left = 0;
  for (const item of items) {
    const weight = weightOf(item);
    if (portions.length === 0 || weight > left) {
      portions.push([]);
      left = portionWeight;
    }
    portions.at(-1)!.push(item);
    left -= weight;
  }
  return portions;
}

/**
 * SQL of the ids of the first items that make up a portion, by their ids; at least one.
 * @param items a query with the columns `id` and `weight`
 */
export const firstPortionSql = (items: string) => `
  select id from (
    select id, sum(weight) over (order by id rows unbounded preceding) - weight as before from (${items}) item) item
   where before < ${portionWeight}`;
