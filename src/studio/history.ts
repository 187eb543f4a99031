import type { Page, PageRequest } from '../platform/database/page.ts';
import { rowBlocks } from '../platform/database/row-blocks.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { generationStates } from './core/status.ts';
import { type GenerationDetail, generationColumns, generationRow } from './generations.ts';

/** The columns of the history and of its counts. */
const columns = { image: 'images', video: 'videos', music: 'music' } as const;
export const historyTypes = Object.keys(columns) as [keyof typeof columns, ...(keyof typeof columns)[]];
export type HistoryType = (typeof historyTypes)[number];

const countsOf = (kind: HistoryType): [column: string, condition: string] => [
  columns[kind],
  `kind = '${kind}' and status = 'completed'`,
];

/** The counts of 1000 consecutive generations of a tenant. */
const blocks = rowBlocks({
  table: 'generation',
  series: {},
  isOpen: `status in (${generationStates.sql('processing')})`,
  counts: Object.fromEntries(historyTypes.map(countsOf)),
});

export const blockLock = blocks.lockOf({});
export const countGenerationBlocks = blocks.countDue;

/** @param kind null for everything that the history shows */
function statementsOf(kind: HistoryType | null) {
  const shown = kind ? `kind = '${kind}'` : `kind in (${historyTypes.map((type) => `'${type}'`).join(', ')})`;
  const counted = kind ? columns[kind] : Object.values(columns).join(' + ');
  const name = kind ?? 'all';
  const marks = blocks.marks({
    name: `marks_${name}`,
    given: {},
    isShown: `r.status = 'completed' and ${shown}`,
    counted,
    latest: `coalesce(
      (select total from generation_total where organization_id = :organizationId and environment = :environment), 0)`,
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
