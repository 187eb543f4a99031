import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type DeliveryStatus, deliveryStates, deliveryStatuses } from '../core/delivery-status.ts';
import {
  type DeliveryEntry,
  type DeliveryRow,
  deliveryRow,
  entryColumns,
  entryOf,
  loadSubscription,
} from './delivery-entry.ts';
import { eventOf } from './publish-event.ts';

interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  eventType?: string | undefined;
}

const ownOf = (prefix: string) =>
  `${prefix}organization_id = :organizationId and ${prefix}environment = :environment
    and ${prefix}subscription_id = :subscriptionId`;
const own = ownOf('d.');
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

const parametersOfFilter = { status: 'text', eventType: 'text' } as const;

/** How a list finds its deliveries. */
interface Kind {
  name: string;
  /** The event types and states of the filter, each of which is a range of an index; undefined without a filter. */
  keys: { types: string; statuses: string } | undefined;
  /** The column of a block's count in `delivery_block_count`. */
  count: string;
  /** Conditions on `event_type`, and on the state of a change. */
  isType: string;
  isStatus: (column: string) => string;
  /** The conditions of the filter. */
  filters: readonly (keyof typeof parametersOfFilter)[];
}

const sum = deliveryStatuses.join(' + ');
const oneStatus = (parameter: string) =>
  `case ${parameter} ${deliveryStatuses.map((status) => `when '${status}' then ${status}`).join(' ')} end`;
const any = 'true';
const exists = (column: string) => `${column} is not null`;
const is = (parameter: string) => (column: string) => `${column} is not distinct from ${parameter}`;

const kinds = {
  all: { name: '', keys: undefined, count: sum, isType: any, isStatus: exists, filters: [] },
  status: {
    name: '_of_status',
    keys: { types: `(${everyType})`, statuses: '(select :status as name)' },
    count: oneStatus(':status'),
    isType: any,
    isStatus: is(':status'),
    filters: ['status'],
  },
  type: {
    name: '_of_type',
    keys: { types: '(select :eventType as name)', statuses: `(select unnest(${everyStatus}) as name)` },
    count: sum,
    isType: 'event_type = :eventType',
    isStatus: exists,
    filters: ['eventType'],
  },
  both: {
    name: '_of_type_and_status',
    keys: { types: '(select :eventType as name)', statuses: '(select :status as name)' },
    count: oneStatus(':status'),
    isType: 'event_type = :eventType',
    isStatus: is(':status'),
    filters: ['status', 'eventType'],
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

/** The parameters of a list with its filter. The type has those of all filters, but only the filter's own are bound. */
const parametersOf = ({ filters }: Kind) => {
  const given = Object.fromEntries(filters.map((name) => [name, parametersOfFilter[name]]));
  return { subscriptionId: 'uuid', ...(given as typeof parametersOfFilter) } as const;
};

// One row for each block and type, and for each noted change. What no block has, usually the latest thousand or two, and
// blocks that are not counted yet are counted one by one. The parts of a block are brought together by grouping: for a join the
// planner, which takes them to be few, would read all of them again for each block.
function marksOf(kind: Kind) {
  const counted = (begin: string, end: string) => `(select count(*)::int ${positions(kind, between(begin, end))})`;
  return statement({
    name: `delivery.marks${kind.name}`,
    parameters: { ...parametersOf(kind), offset: 'bigint' },
    row: { total: 'int', upToAt: 'text?', upToId: 'uuid?', skip: 'int?' },
    text: `with block as (
       select ends_at, ends_id, is_counted, coalesce(lag(ends_at) over positions, '-infinity') as begins_at,
              coalesce(lag(ends_id) over positions, '${noId}') as begins_id
         from delivery_block where ${ownOf('')}
       window positions as (order by ends_at, ends_id)),
     part as (
       select ends_at, ends_id, is_counted,
              case when is_counted then 0 else ${counted('begins_at, begins_id', 'ends_at, ends_id')} end as count from block
       union all
       select ends_at, ends_id, null, ${kind.count} from delivery_block_count where ${ownOf('')} and ${kind.isType}
       union all
       select ends_at, ends_id, null, (${kind.isStatus('becomes')})::int - (${kind.isStatus('was')})::int
         from delivery_change where ${ownOf('')} and ${kind.isType}),
     range as (
       select ends_at, ends_id,
              (case when bool_or(is_counted) then sum(count)
                    else sum(count) filter (where is_counted is not null) end)::int as count
         from part group by ends_at, ends_id having bool_or(is_counted is not null)
       union all
       select 'infinity', '${lastId}', ${counted('ends_at, ends_id', `'infinity', '${lastId}'`)}
         from (select '-infinity'::timestamptz as ends_at, '${noId}'::uuid as ends_id
               union all select ends_at, ends_id from block order by ends_at desc, ends_id desc limit 1) latest),
     summed as (
       select ends_at, ends_id, count, sum(count) over (order by ends_at desc, ends_id desc) as so_far from range),
     first as (select * from summed where so_far > :offset order by ends_at desc, ends_id desc limit 1)
     select (select sum(count)::int from range) as total, ends_at::text as "upToAt", ends_id as "upToId",
            (:offset - (so_far - count))::int as skip
       from (select) as one left join first on true`,
  });
}

function pageOf(kind: Kind) {
  const condition = '(d.created_at, d.id) <= (:upToAt, :upToId)';
  const newest = `${newestFirst('d')} limit :limit + :skip`;
  return statement({
    name: `delivery.page${kind.name}`,
    parameters: { ...parametersOf(kind), upToAt: 'timestamptz', upToId: 'uuid', limit: 'int', skip: 'int' },
    row: deliveryRow,
    text: `select ${entryColumns}
       from (select d.id ${positions(kind, condition, newest)} ${newestFirst('d')} limit :limit offset :skip) chosen
       join delivery d on d.id = chosen.id and ${own} ${eventOf('d', 'id, type, correlation_id, is_test, expunge_requested_at, content_expunged_at')} e
      ${newestFirst('d')}`,
  });
}

const statements = Object.fromEntries(
  Object.entries(kinds).map(([kind, of]) => [kind, { marks: marksOf(of), page: pageOf(of) }]),
) as Record<keyof typeof kinds, { marks: ReturnType<typeof marksOf>; page: ReturnType<typeof pageOf> }>;

type Found = Pick<Page<DeliveryRow>, 'items' | 'total'>;

async function find(scope: Scope, subscriptionId: string, filter: DeliveryFilter, page: PageRequest): Promise<Found> {
  const { status, eventType } = filter;
  const of = { subscriptionId, status: status!, eventType: eventType! };
  const statement = statements[status ? (eventType ? 'both' : 'status') : eventType ? 'type' : 'all'];
  const { total, upToAt, upToId, skip } = (await scope.one(statement.marks, { ...of, offset: page.offset }))!;
  const items = upToAt
    ? await scope.rows(statement.page, { ...of, upToAt, upToId: upToId!, limit: page.limit, skip: skip! })
    : [];
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
