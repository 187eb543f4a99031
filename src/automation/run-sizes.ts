import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';

// The values of one run have up to some megabytes, which have to be read.
const storeSizes = statement<{ count: number }>(
  'run.store_sizes',
  `with sized as (
     update run set input_bytes = coalesce(octet_length(input::text), 0),
            variables_bytes = coalesce(variables_bytes, octet_length(variables::text)),
            output_bytes = coalesce(output_bytes, octet_length(output::text))
      where id in (select id from run where input_bytes is null order by id desc limit $1 for update skip locked)
     returning 1)
   select count(*)::int as count from sized`,
);

const perStatement = 50;
/** How long one call goes on: an upgrade of a large installation is not felt, and takes some hours. */
const perCallMs = 5_000;

/**
 * Stores the sizes of what runs of earlier versions were given and returned, of all tenants, the latest first. Lists of runs
 * without them read the values to find out.
 * @returns how many runs
 */
export async function storeRunSizes(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  const end = performance.now() + perCallMs;
  let total = 0;
  while (performance.now() < end) {
    const { count } = (await sql.one(storeSizes, [perStatement]))!;
    total += count;
    if (count < perStatement) break;
  }
  return total;
}
