import type { Page } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { RowWith } from '../../platform/database/sql-types.ts';
import { invalid } from '../../platform/errors.ts';
import { runIds } from '../core/ids.ts';
import type { RunStatus } from '../core/run-status.ts';
import type { TriggerType } from '../core/starts.ts';
import { listColumns, live, type RunSummary, runRow, withProgress } from '../runs/runs.ts';
import { filterParameters, type RangeName, ranges, residual } from './ranges.ts';

export interface RunFilter {
  /** Ids are UUIDs. */
  workflowId?: string | undefined;
  /** Runs of any of these workflows. */
  workflowIds?: readonly string[] | undefined;
  /** These runs alone. */
  runIds?: readonly string[] | undefined;
  statuses?: readonly RunStatus[] | undefined;
  /** The runs have all of them. */
  tags?: readonly string[] | undefined;
  /** Inclusive, by the time of creation. */
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
  triggers?: readonly TriggerType[] | undefined;
  parentRunId?: string | undefined;
  batchId?: string | undefined;
  /** The version of its workflow that a run executes. */
  version?: number | undefined;
  errorCode?: string | undefined;
  correlationId?: string | undefined;
  isTest?: boolean | undefined;
}

export interface RunPage extends Page<RunSummary> {
  /** False: there are more than `total`. */
  totalIsExact: boolean;
  /** Continues behind this page; null at the end of the list. */
  nextCursor: string | null;
}

/** A total is counted up to here. */
const maxTotal = 10_000;
/** Maximum runs of the range of one filter that a page checks against its other filters. The page may then be short. */
const maxScan = 10_000;

const uncounted = { total: 0, examined: 0 };
const nil = '00000000-0000-0000-0000-000000000000';
const greatestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const leastNumber = -2_147_483_648;
const greatestNumber = 2_147_483_647;

const timeText = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

const keyColumns = { id: 'uuid', createdAt: 'text', number: 'int', isMatch: 'boolean', examined: 'int' } as const;

const pageBy = (name: RangeName) =>
  statement({
    name: `run.search_by_${name}`,
    parameters: { ...filterParameters, limit: 'int', offset: 'int' },
    row: keyColumns,
    // The last row says how far the range was read, where it holds no further match.
    text: `with candidates as materialized (${ranges[name]}),
     matching as (
       select c.id, c.created_at, r.number from candidates c
         join run r on r.id = c.id
         join automation a on a.id = r.automation_id and a.deleted_at is null
        where ${residual}
        order by c.created_at desc, c.id desc limit :limit offset :offset)
     select id, ${timeText('created_at')} as "createdAt", number, true as "isMatch",
            (select count(*)::int from candidates) as examined
       from matching
     union all
     select * from (
       select id, ${timeText('created_at')}, (select number from run where run.id = candidates.id), false, (select count(*)::int from candidates)
         from candidates order by created_at, id limit 1) last`,
  });

/** The filters that a statement does not look at, for their types. */
const unread = Object.keys(filterParameters)
  .map((parameter) => `(:${parameter}::text is null or true)`)
  .join(' and ');

/** Where no other filter has to be looked at, the page is turned before its runs are read. Runs of deleted workflows are left out of it. */
const plainPageBy = (name: RangeName) =>
  statement({
    name: `run.page_by_${name}`,
    parameters: { ...filterParameters, limit: 'int', offset: 'int' },
    row: keyColumns,
    text: `with candidates as materialized (${ranges[name]}),
     page as materialized (
       select id, created_at from candidates where ${unread} order by created_at desc, id desc limit :limit offset :offset)
     select * from (
       select p.id, ${timeText('p.created_at')} as "createdAt", r.number, true as "isMatch",
              (select count(*)::int from candidates) as examined
         from page p join run r on r.id = p.id join automation a on a.id = r.automation_id and a.deleted_at is null
        where r.organization_id = :organizationId and r.environment = :environment
        order by p.created_at desc, p.id desc) matching
     union all
     select * from (
       select id, ${timeText('created_at')}, (select number from run where run.id = candidates.id), false, (select count(*)::int from candidates)
         from candidates order by created_at, id limit 1) last`,
  });

const countBy = (name: RangeName) =>
  statement({
    name: `run.count_by_${name}`,
    parameters: filterParameters,
    row: { total: 'int', examined: 'int' },
    text: `with candidates as materialized (${ranges[name]})
     select count(*)::int as total, (select count(*)::int from candidates) as examined
       from candidates c join run r on r.id = c.id where ${residual}`,
  });

/** Where no other filter has to be looked at, the runs themselves are not read. */
const countAllBy = (name: RangeName) =>
  statement({
    name: `run.count_all_by_${name}`,
    parameters: filterParameters,
    row: { total: 'int', examined: 'int' },
    text: `select count(*)::int as total, count(*)::int as examined
       from (${ranges[name]}) counted
      where ${unread}`,
  });

const names = Object.keys(ranges) as RangeName[];
export const statementsOf = <Of>(make: (name: RangeName) => Of) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<RangeName, Of>;
const pages = statementsOf(pageBy);
const plainPages = statementsOf(plainPageBy);
const counts = statementsOf(countBy);
const plainCounts = statementsOf(countAllBy);

const listByIds = statement({
  name: 'run.list_by_ids',
  parameters: { ids: 'uuid[]' },
  row: runRow,
  text: `select ${listColumns} ${live} and r.id = any(:ids) order by r.created_at desc, r.id desc`,
});

// Numbers of a workflow are in the order of creation: the first one of a time is found like a word in a dictionary.
const findNumber = statement({
  name: 'run.number_at',
  parameters: { workflowId: 'uuid', time: 'timestamptz' },
  row: { number: 'int' },
  text: `with recursive bounds (lower, upper) as (
     select 0, total_runs + 1 from automation
      where organization_id = :organizationId and environment = :environment and id = :workflowId and deleted_at is null
     union all
     select case when found.number is null or found.created_at < :time then middle else lower end,
            case when found.number is null or found.created_at < :time then upper else found.number end
       from bounds cross join lateral (select (lower + upper) / 2 as middle) half
       left join lateral (
         select number, created_at from run
          where organization_id = :organizationId and environment = :environment and automation_id = :workflowId
            and number > lower and number <= middle
          order by number desc limit 1) found on true
      where upper - lower > 1)
   select upper as number from bounds order by upper - lower limit 1`,
});

interface Cursor {
  createdAt: string;
  id: string;
  number: number;
}

const writeCursor = ({ createdAt, id, number }: Cursor): string =>
  Buffer.from(`${createdAt} ${id} ${number}`).toString('base64url');

const cursorPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([0-9a-f-]{36}) (-?\d{1,9})$/;

/** @throws AppError validation_error */
function readCursor(text: string): Cursor {
  const parts = cursorPattern.exec(Buffer.from(text, 'base64url').toString('latin1'));
  const id = parts && runIds.parse(parts[2]!);
  if (!parts || !id || Number.isNaN(Date.parse(parts[1]!))) {
    throw invalid([{ path: 'after', message: 'Expected the nextCursor of a page.' }]);
  }
  return { createdAt: parts[1]!, id, number: Number(parts[3]) };
}

/** The filter whose runs an index has in the order of the list, by how few they usually are; and the filters that it serves. */
function rangeOf(filter: RunFilter): { name: RangeName; serves: readonly (keyof RunFilter)[] } {
  if (filter.runIds) return { name: 'named', serves: ['runIds'] };
  if (filter.batchId) return { name: 'batch', serves: ['batchId'] };
  if (filter.parentRunId) return { name: 'parent', serves: ['parentRunId'] };
  if (filter.isTest) return { name: 'test', serves: ['isTest'] };
  if (filter.correlationId) return { name: 'correlation', serves: ['correlationId'] };
  if (filter.tags?.length) return { name: 'tag', serves: filter.tags.length === 1 ? ['tags'] : [] };
  if (filter.errorCode) return { name: 'error', serves: ['errorCode'] };
  if (filter.version !== undefined) return { name: 'version', serves: ['version', 'workflowId'] };
  if (filter.workflowId) return { name: 'workflow', serves: ['workflowId', 'statuses'] };
  return { name: 'all', serves: ['statuses', 'triggers'] };
}

const inEveryRange: readonly (keyof RunFilter)[] = ['from', 'to', 'isTest'];

/** How the runs of a filter are read: the range that is followed, and the values of its statements. */
export async function planOf(scope: Scope, filter: RunFilter) {
  const { name, serves } = rangeOf(filter);
  const others = (Object.keys(filter) as (keyof RunFilter)[]).filter(
    (key) => filter[key] !== undefined && !serves.includes(key) && !inEveryRange.includes(key),
  );
  const isPlain = others.length === 0 && name !== 'named' && !(name === 'workflow' && filter.isTest);
  const { workflowId, from, to } = filter;
  const numberAt = async (time: Date | undefined) =>
    workflowId && time && !filter.isTest ? (await scope.one(findNumber, { workflowId, time }))?.number : undefined;
  const [fromNumber = filter.isTest ? leastNumber : 0, toNumber = greatestNumber] = await Promise.all([
    numberAt(from),
    numberAt(to),
  ]);
  const values = {
    workflowId: workflowId ?? null,
    workflowIds: filter.workflowIds ?? null,
    runIds: filter.runIds ?? null,
    statuses: filter.statuses ?? null,
    tags: filter.tags?.length ? filter.tags : null,
    triggers: filter.triggers ?? null,
    parentRunId: filter.parentRunId ?? null,
    batchId: filter.batchId ?? null,
    version: filter.version ?? null,
    errorCode: filter.errorCode ?? null,
    correlationId: filter.correlationId ?? null,
    isTest: filter.isTest ?? false,
    from: from ?? '-infinity',
    beforeTime: to ? to.toISOString() : 'infinity',
    beforeId: to ? nil : greatestId,
    fromNumber,
    beforeNumber: toNumber,
  };
  return { name, isPlain, values, toNumber };
}

/** Selects the runs after a given run of the list. Test runs, with numbers below 1, are listed by time alone. */
const behind = ({ createdAt, id, number }: Cursor, toNumber: number) => ({
  beforeTime: createdAt,
  beforeId: id,
  beforeNumber: number < 1 ? toNumber : Math.min(toNumber, number),
});

/** The matches of a page, and the start of the next one; undefined at the end of the list. */
function pageOf(rows: readonly RowWith<typeof keyColumns>[], limit: number, scan: number) {
  const matches = rows.filter(({ isMatch }) => isMatch);
  const shown = matches.slice(0, limit);
  const last = rows.find(({ isMatch }) => !isMatch);
  const wasReadToTheEnd = (last?.examined ?? 0) < scan;
  return { shown, next: matches.length > limit ? shown.at(-1) : wasReadToTheEnd ? undefined : last };
}

interface RunPageRequest {
  limit: number;
  offset: number;
  /** The `nextCursor` of the page before. */
  after?: string | undefined;
}

/**
 * The runs of all workflows that match a filter, newest first, with values of at most 16 KiB. Each single filter costs
 * what a page costs. Of several filters the search follows one and checks the others, up to a limit: then a page may be
 * short.
 * @throws AppError validation_error
 */
export async function searchRuns(
  scope: Scope,
  filter: RunFilter,
  { limit, offset, after }: RunPageRequest,
): Promise<RunPage> {
  const cursor = after === undefined ? undefined : readCursor(after);
  const { name, isPlain, values, toNumber } = await planOf(scope, filter);
  const scan = isPlain ? offset + limit + 1 : maxScan + offset;
  const countScan = maxTotal + 1;
  const counting = (isPlain ? plainCounts : counts)[name];
  const [rows, counted = uncounted] = await Promise.all([
    scope.rows((isPlain ? plainPages : pages)[name], {
      ...values,
      ...(cursor && behind(cursor, toNumber)),
      scan,
      limit: limit + 1,
      offset,
    }),
    scope.one(counting, { ...values, scan: countScan }),
  ]);
  const { shown, next } = pageOf(rows, limit, scan);
  const found = shown.length === 0 ? [] : await scope.rows(listByIds, { ids: shown.map(({ id }) => id) });
  return {
    items: found.map(withProgress),
    total: Math.min(counted.total, maxTotal),
    totalIsExact: counted.examined <= maxTotal,
    limit,
    offset,
    nextCursor: next ? writeCursor(next) : null,
  };
}

/** Ids that are read together. */
const idsPerPage = 1_000;
/** Pages after which a search for ids ends. Where one filter is followed and others are looked at, a page may be short. */
const maxIdPages = 20;

/**
 * The ids of the runs that match a filter, newest first.
 * @returns at most `max`; `isComplete` is false where there are more, or where finding them takes too long
 */
export async function findRunIds(
  scope: Scope,
  filter: RunFilter,
  max: number,
): Promise<{ ids: string[]; isComplete: boolean }> {
  const { name, isPlain, values, toNumber } = await planOf(scope, filter);
  const scan = isPlain ? idsPerPage + 1 : maxScan;
  const ids: string[] = [];
  let from: Cursor | undefined;
  for (let page = 0; page < maxIdPages; page++) {
    const after = from && behind(from, toNumber);
    const reading = (isPlain ? plainPages : pages)[name];
    const rows = await scope.rows(reading, { ...values, ...after, scan, limit: idsPerPage + 1, offset: 0 });
    const { shown, next } = pageOf(rows, idsPerPage, scan);
    ids.push(...shown.map(({ id }) => id));
    if (ids.length > max) break;
    if (!next) return { ids, isComplete: true };
    from = next;
  }
  return { ids: ids.slice(0, max), isComplete: false };
}
