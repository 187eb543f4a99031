import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Database } from '../platform/database/database.ts';
import type { Page, PageRequest } from '../platform/database/page.ts';
import { Scope } from '../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { newId } from '../platform/ids.ts';
import type { Environment } from '../platform/tenant.ts';
import { generationStates } from './core/status.ts';
import { type GenerationDetail, generationColumns, generationRow } from './generations.ts';

/** What the history shows, and the columns of its counts. */
const columns = { image: 'images', video: 'videos', music: 'music' } as const;
export const historyTypes = Object.keys(columns) as [keyof typeof columns, ...(keyof typeof columns)[]];
export type HistoryType = (typeof historyTypes)[number];

/**
 * Numbers per block. A generation that has ended never changes: once all of a block have ended, one row has its counts, and
 * only the removal of a generation changes it. A total then reads one row for each 1000 generations, and none that ends has
 * a counter to update.
 */
const size = 1000;
const inBlock = (of: string, block: string) =>
  `${of}.number > ${block} * ${size} and ${of}.number <= (${block} + 1) * ${size}`;

/** Blocks of a tenant are counted, and generations are removed from them, one transaction after the other. */
export const blockLock = 'generation_blocks';

// Finds the ends of blocks by their own small index. A block with open generations is left to a later call.
const findDueBlocks = systemStatement({
  name: 'generation.due_blocks',
  parameters: { limit: 'int' },
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), block: 'int' },
  text: `select g.organization_id as "organizationId", g.environment, g.number / ${size} - 1 as block
     from generation g
    where g.number % ${size} = 0
      and not exists (select from generation_block b
                       where b.organization_id = g.organization_id and b.environment = g.environment
                         and b.block = g.number / ${size} - 1)
      and not exists (select from generation o
                       where o.organization_id = g.organization_id and o.environment = g.environment
                         and o.status in (${generationStates.sql('processing')})
                         and o.number > g.number - ${size} and o.number <= g.number)
    limit :limit`,
});

const countOf = (kind: HistoryType) => `count(*) filter (where kind = '${kind}' and status = 'completed')::int`;

const countBlock = statement({
  name: 'generation.count_block',
  parameters: { block: 'int' },
  row: { block: 'int' },
  text: `insert into generation_block (organization_id, environment, block, ${Object.values(columns).join(', ')})
   select :organizationId, :environment, :block, ${historyTypes.map(countOf).join(', ')}
     from generation where organization_id = :organizationId and environment = :environment
       and ${inBlock('generation', ':block')}
   on conflict do nothing
   returning block`,
});

/** Counts the generations of blocks that have ended, of all tenants. @returns how many blocks */
export function countGenerationBlocks(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  return inBatches(async (limit) => {
    const due = await sql.rows(findDueBlocks, { limit });
    for (const { organizationId, environment, block } of due) {
      await new Scope(database, { organizationId, environment }, newId()).transaction(async (tx) => {
        await lockForTransaction(tx, blockLock);
        await tx.rows(countBlock, { block });
      });
    }
    return due.length;
  }, 100);
}

/** @param kind null for everything that the history shows */
function statementsOf(kind: HistoryType | null) {
  const shown = kind ? `kind = '${kind}'` : `kind in (${historyTypes.map((type) => `'${type}'`).join(', ')})`;
  const counted = kind ? columns[kind] : Object.values(columns).join(' + ');
  const name = kind ?? 'all';
  // Blocks without a row are counted one by one: usually the last one or two.
  const marks = statement({
    name: `generation.marks_${name}`,
    parameters: { offset: 'bigint' },
    row: { total: 'int', upTo: 'int?', skip: 'int?' },
    text: `with counted as (
       select n as block,
              case when b.block is null then
                     (select count(*)::int from generation g
                       where g.organization_id = :organizationId and g.environment = :environment and g.status = 'completed'
                         and ${shown} and ${inBlock('g', 'n')})
                   else ${counted} end as count
         from generate_series(
                (select (min(number) - 1) / ${size} from generation where organization_id = :organizationId and environment = :environment), coalesce(
                (select (total - 1) / ${size} from generation_total where organization_id = :organizationId and environment = :environment), -1)) as n
         left join generation_block b on b.organization_id = :organizationId and b.environment = :environment and b.block = n),
     summed as (select block, count, sum(count) over (order by block desc) as so_far from counted),
     first as (select * from summed where so_far > :offset order by block desc limit 1)
     select coalesce((select sum(count) from counted), 0)::int as total, (block + 1) * ${size} as "upTo",
            (:offset - (so_far - count))::int as skip
       from (select 1) as one left join first on true`,
  });
  const page = statement({
    name: `generation.history_${name}`,
    parameters: { upTo: 'int', limit: 'int', skip: 'int' },
    row: generationRow,
    text: `select ${generationColumns} from generation
      where organization_id = :organizationId and environment = :environment and status = 'completed' and ${shown} and number <= :upTo
      order by number desc limit :limit offset :skip`,
  });
  return { marks, page };
}

const statements = {
  all: statementsOf(null),
  ...(Object.fromEntries(historyTypes.map((type) => [type, statementsOf(type)])) as Record<
    HistoryType,
    ReturnType<typeof statementsOf>
  >),
};

/** A tenant's completed images, videos and music, newest first, at a cost that does not grow with the offset. */
export async function listHistory(
  scope: Scope,
  { type, limit, offset }: PageRequest & { type?: HistoryType | undefined },
): Promise<Page<GenerationDetail>> {
  const { marks, page } = statements[type ?? 'all'];
  const { total, upTo, skip } = (await scope.one(marks, { offset }))!;
  const items = upTo === null ? [] : await scope.rows(page, { upTo, limit, skip: skip! });
  return { items, total, limit, offset };
}
