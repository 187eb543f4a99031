import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type ApprovalStatus, approvalStates } from '../core/approvals.ts';
import { workflowIds } from '../core/ids.ts';
import { allWorkflows } from './approval-blocks.ts';
import { fitList } from './fit-list.ts';
import { type ApprovalView, approvalRow, listedColumns, viewOf } from './views.ts';

const parametersOfFilter = { status: 'text', automationId: 'uuid' } as const;

/** How a list finds its approvals. */
interface Kind {
  name: string;
  /** The conditions of the filter. */
  filters: readonly (keyof typeof parametersOfFilter)[];
}

const kinds = {
  all: { name: '', filters: [] },
  status: { name: '_of_status', filters: ['status'] },
  workflow: { name: '_of_workflow', filters: ['automationId'] },
  both: { name: '_of_workflow_and_status', filters: ['automationId', 'status'] },
} satisfies Record<string, Kind>;

const ownOf = (prefix: string) => `${prefix}organization_id = :organizationId and ${prefix}environment = :environment`;

/** Approvals of deleted workflows are not shown, and wait to be purged. */
const deleted = `select w.id from automation w where ${ownOf('w.')} and w.deleted_at is not null`;

/** The parameters of a list with its filter. The type has those of all filters, but only the filter's own are bound. */
const parametersOf = ({ filters }: Kind) =>
  Object.fromEntries(filters.map((name) => [name, parametersOfFilter[name]])) as typeof parametersOfFilter;

// In the order of the list, changes follow the end of their block. Those before the first end are in no block yet.
function marksOf({ name, filters }: Kind) {
  const has = (filter: keyof typeof parametersOfFilter) => filters.includes(filter);
  const counted = has('status')
    ? `case :status ${approvalStates.all.map((status) => `when '${status}' then b.${status}`).join(' ')} end`
    : approvalStates.all.map((status) => `b.${status}`).join(' + ');
  const isCounted = (column: string) =>
    `(${has('status') ? `${column} is not distinct from :status` : `${column} is not null`})::int`;
  const series = has('automationId') ? ':automationId' : `'${allWorkflows}'`;
  return statement({
    name: `approval.marks${name}`,
    parameters: { ...parametersOf({ name, filters }), offset: 'bigint' },
    row: { total: 'int', upToAt: 'text?', upToId: 'uuid?', skip: 'int?' },
    text: `with deleted as materialized (${deleted}),
     part as (
       select b.ends_at as at, b.ends_id as id, true as is_end, ${counted} as count from approval_block b
        where ${ownOf('b.')} and b.automation_id = ${series}
       union all
       select b.ends_at, b.ends_id, false, -b.count from deleted cross join lateral (
         select b.ends_at, b.ends_id, ${counted} as count from approval_block b
          where ${ownOf('b.')} and b.automation_id = deleted.id offset 0) b${
            has('automationId') ? ' where deleted.id = :automationId' : ''
          }
       union all
       select c.created_at, c.approval_id, false, ${isCounted('c.becomes')} - ${isCounted('c.was')} from approval_change c
        where ${ownOf('c.')}${has('automationId') ? ' and c.automation_id = :automationId' : ''}
          and c.automation_id not in (select id from deleted)),
     placed as (
       select at, id, is_end, count, count(*) filter (where is_end) over positions as nth from part
       window positions as (order by at desc, id desc, is_end desc rows unbounded preceding)),
     block as (
       select nth, max(at) filter (where is_end) as ends_at, (array_agg(id) filter (where is_end))[1] as ends_id,
              sum(count) as count
         from placed group by nth),
     summed as (select *, sum(count) over (order by nth) as so_far from block),
     first as (select * from summed where so_far > :offset order by nth limit 1)
     select coalesce((select sum(count) from block), 0)::int as total,
            case when first.nth = 0 then 'infinity' else first.ends_at::text end as "upToAt",
            case when first.nth = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff' else first.ends_id end as "upToId",
            (:offset - (so_far - count))::int as skip
       from (select) as one left join first on true`,
  });
}

function pageOf({ name, filters }: Kind) {
  const columns = { status: 'a.status', automationId: 'a.automation_id' };
  const own = [ownOf('a.'), ...filters.map((filter) => `${columns[filter]} = :${filter}`)].join(' and ');
  const newestFirst = 'order by a.created_at desc, a.id desc';
  return statement({
    name: `approval.page${name}`,
    parameters: {
      ...parametersOf({ name, filters }),
      upToAt: 'timestamptz',
      upToId: 'uuid',
      limit: 'int',
      skip: 'int',
    },
    row: approvalRow,
    text: `select ${listedColumns}
       from (select a.* from approval a
              where ${own} and (a.created_at, a.id) <= (:upToAt, :upToId) and a.automation_id <> all (array(${deleted}))
              ${newestFirst} limit :limit offset :skip) a
       join automation w on w.id = a.automation_id
      ${newestFirst}`,
  });
}

const statements = Object.fromEntries(
  Object.entries(kinds).map(([kind, of]) => [kind, { marks: marksOf(of), page: pageOf(of) }]),
) as Record<keyof typeof kinds, { marks: ReturnType<typeof marksOf>; page: ReturnType<typeof pageOf> }>;

/** Newest first, at a cost that does not grow with the offset. A workflow that there is not has none. */
export async function listApprovals(
  scope: Scope,
  { status, workflowId }: { status?: ApprovalStatus | undefined; workflowId?: string | undefined },
  { limit, offset }: PageRequest,
): Promise<Page<ApprovalView>> {
  const automationId = workflowId === undefined ? undefined : workflowIds.parse(workflowId);
  if (workflowId !== undefined && automationId === undefined) return { items: [], total: 0, limit, offset };
  const of = { status: status!, automationId: automationId! };
  const { marks, page } = statements[automationId ? (status ? 'both' : 'workflow') : status ? 'status' : 'all'];
  const { total, upToAt, upToId, skip } = (await scope.one(marks, { ...of, offset }))!;
  const rows = upToAt ? await scope.rows(page, { ...of, upToAt, upToId: upToId!, limit, skip: skip! }) : [];
  return { items: fitList(rows.map(viewOf)), total, limit, offset };
}
