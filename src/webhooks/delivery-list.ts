import type { Page, PageRequest } from '../platform/page.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { type DeliveryStatus, deliveryStates, deliveryStatuses } from './core/delivery-status.ts';
import { type DeliveryEntry, type DeliveryRow, entryColumns, entryOf, loadSubscription } from './delivery-entry.ts';
import { eventOf } from './publish-event.ts';

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  eventType?: string | undefined;
}

/** Where a page begins: so many deliveries of the filter after this position, newest first. */
interface Marks {
  total: number;
  /** A timestamp as PostgreSQL writes it, to the microsecond; null when the page is empty. */
  upToAt: string | null;
  upToId: string | null;
  skip: number | null;
}

const own = 'd.organization_id = $1 and d.environment = $2 and d.subscription_id = $3';
const newestFirst = (of: string) => `order by ${of}.created_at desc, ${of}.id desc`;
const noId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const everyStatus = `array[${deliveryStates.sql(...deliveryStatuses)}]`;

/** Skips from type to type along the index, however many deliveries there are of each. */
const everyType = `with recursive type as (
         (select d.event_type as name from delivery d where ${own} order by d.event_type limit 1)
         union all
         select (select d.event_type from delivery d where ${own} and d.event_type > type.name order by d.event_type limit 1)
           from type where type.name is not null)
       select name from type where name is not null`;

/** How a list finds its deliveries. $4 and $5 are what the filter asks for. */
interface Kind {
  name: string;
  /** The event types and states of the filter, each of which is a range of an index; undefined for no filter. */
  keys: { types: string; statuses: string } | undefined;
  /** The column of a block's count in `delivery_block_count`. */
  count: string;
  /** Conditions on `event_type`, and on the state of a change. */
  isType: string;
  isStatus: (column: string) => string;
  /** How many parameters precede those of the page. */
  parameters: 3 | 4 | 5;
}

const sum = deliveryStatuses.join(' + ');
const oneStatus = (parameter: string) =>
  `case ${parameter}::text ${deliveryStatuses.map((status) => `when '${status}' then ${status}`).join(' ')} end`;
const any = 'true';
const exists = (column: string) => `${column} is not null`;
const is = (parameter: string) => (column: string) => `${column} is not distinct from ${parameter}::text`;

const kinds = {
  all: { name: '', keys: undefined, count: sum, isType: any, isStatus: exists, parameters: 3 },
  status: {
    name: '_of_status',
    keys: { types: `(${everyType})`, statuses: '(select $4::text as name)' },
    count: oneStatus('$4'),
    isType: any,
    isStatus: is('$4'),
    parameters: 4,
  },
  type: {
    name: '_of_type',
    keys: { types: '(select $4::text as name)', statuses: `(select unnest(${everyStatus}) as name)` },
    count: sum,
    isType: 'event_type = $4',
    isStatus: exists,
    parameters: 4,
  },
  both: {
    name: '_of_type_and_status',
    keys: { types: '(select $5::text as name)', statuses: '(select $4::text as name)' },
    count: oneStatus('$4'),
    isType: 'event_type = $5',
    isStatus: is('$4'),
    parameters: 5,
  },
} satisfies Record<string, Kind>;

/** The positions of the deliveries of a filter that meet a condition, each key with an end of its own. */
const positions = ({ keys }: Kind, condition: string, end = '') =>
  keys
    ? `from ${keys.types} t cross join ${keys.statuses} s cross join lateral (
         select d.created_at, d.id from delivery d
          where ${own} and d.event_type = t.name and d.status = s.name and ${condition} ${end}) d`
    : `from (select d.created_at, d.id from delivery d where ${own} and ${condition} ${end}) d`;

const between = (begin: string, end: string) =>
  `(d.created_at, d.id) > (${begin}) and (d.created_at, d.id) <= (${end})`;

// One row for each block and type, and for each noted change. What no block has, usually the latest thousand or two, and
// blocks that are not counted yet are counted one by one.
function marksOf(kind: Kind) {
  const offset = `$${kind.parameters + 1}`;
  const counted = (begin: string, end: string) => `(select count(*)::int ${positions(kind, between(begin, end))})`;
  return statement<Marks>(
    `delivery.marks${kind.name}`,
    `with block as (
       select ends_at, ends_id, is_counted, coalesce(lag(ends_at) over positions, '-infinity') as begins_at,
              coalesce(lag(ends_id) over positions, '${noId}') as begins_id
         from delivery_block where organization_id = $1 and environment = $2 and subscription_id = $3
       window positions as (order by ends_at, ends_id)),
     total as (
       select ends_at, ends_id, sum(${kind.count})::int as count from delivery_block_count
        where organization_id = $1 and environment = $2 and subscription_id = $3 and ${kind.isType} group by 1, 2),
     change as (
       select ends_at, ends_id, sum((${kind.isStatus('becomes')})::int - (${kind.isStatus('was')})::int)::int as count
         from delivery_change
        where organization_id = $1 and environment = $2 and subscription_id = $3 and ${kind.isType} group by 1, 2),
     range as (
       select ends_at, ends_id,
              case when is_counted then coalesce(total.count, 0) + coalesce(change.count, 0)
                   else ${counted('begins_at, begins_id', 'ends_at, ends_id')} end as count
         from block left join total using (ends_at, ends_id) left join change using (ends_at, ends_id)
       union all
       select 'infinity', '${lastId}', ${counted('ends_at, ends_id', `'infinity', '${lastId}'`)}
         from (select '-infinity'::timestamptz as ends_at, '${noId}'::uuid as ends_id
               union all select ends_at, ends_id from block order by ends_at desc, ends_id desc limit 1) latest),
     summed as (
       select ends_at, ends_id, count, sum(count) over (order by ends_at desc, ends_id desc) as so_far from range),
     first as (select * from summed where so_far > ${offset}::bigint order by ends_at desc, ends_id desc limit 1)
     select (select sum(count)::int from range) as total, ends_at::text as "upToAt", ends_id as "upToId",
            (${offset} - (so_far - count))::int as skip
       from (select) as one left join first on true`,
  );
}

function pageOf(kind: Kind) {
  const [at, id, limit, skip] = [1, 2, 3, 4].map((nth) => `$${kind.parameters + nth}`);
  const condition = `(d.created_at, d.id) <= (${at}::timestamptz, ${id}::uuid)`;
  const newest = `${newestFirst('d')} limit ${limit}::int + ${skip}::int`;
  return statement<DeliveryRow>(
    `delivery.page${kind.name}`,
    `select ${entryColumns}
       from (select d.id ${positions(kind, condition, newest)} ${newestFirst('d')} limit ${limit}::int offset ${skip}::int) chosen
       join delivery d on d.id = chosen.id and ${own} ${eventOf('d', 'id, type, correlation_id')} e
      ${newestFirst('d')}`,
  );
}

const statements = Object.fromEntries(
  Object.entries(kinds).map(([kind, of]) => [kind, { marks: marksOf(of), page: pageOf(of) }]),
) as Record<keyof typeof kinds, { marks: ReturnType<typeof marksOf>; page: ReturnType<typeof pageOf> }>;

type Found = Pick<Page<DeliveryRow>, 'items' | 'total'>;

async function find(scope: Scope, subscriptionId: string, filter: DeliveryFilter, page: PageRequest): Promise<Found> {
  const { status, eventType } = filter;
  const of = [subscriptionId, ...[status, eventType].filter((value) => value !== undefined)];
  const statement = statements[status ? (eventType ? 'both' : 'status') : eventType ? 'type' : 'all'];
  const { total, upToAt, upToId, skip } = (await scope.one(statement.marks, ...of, page.offset))!;
  const items = upToAt ? await scope.rows(statement.page, ...of, upToAt, upToId, page.limit, skip) : [];
  return { items, total };
}

/** Lists deliveries of one subscription, newest first. @param id in either form @throws AppError not_found */
export async function listDeliveries(
  scope: Scope,
  id: string,
  { limit, offset, ...filter }: DeliveryFilter & PageRequest,
): Promise<Page<DeliveryEntry>> {
  const subscription = await loadSubscription(scope, id);
  const { items, total } = await find(scope, subscription.id, filter, { limit, offset });
  return { items: items.map((row) => entryOf(row, subscription)), total, limit, offset };
}
