import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { invalid } from '../../platform/errors.ts';
import { bodyOf, expungedBodyOf } from '../core/event-body.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { beforeTransaction, type EventPosition, formatCursor, parseCursor } from '../core/event-cursor.ts';
import type { EventArrivals } from './arrivals.ts';
import { feedDays, isRecorded, recordEvents } from './recording.ts';
import { listedTransactions, settledTransaction } from './transaction-clock.ts';

/*
 * The list has the order of transactions, and ends before the first transaction that may still be open: later commits
 * therefore always follow the listed events, and a cursor misses nothing and repeats nothing. Events of overlapping
 * transactions have the order in which these began to write.
 */

/** Bytes of stored facts in a page; a page has one event at least. */
const maxPageBytes = 1_048_576;

interface EventQuery {
  /** A cursor; undefined for the oldest event that is listed. */
  after?: string | undefined;
  /** Without them, all types. */
  types?: readonly string[] | undefined;
  /** 1 to 100. */
  limit: number;
}

interface EventPage {
  /** The bodies, as webhooks get them, or the rest of removed ones. */
  events: Record<string, unknown>[];
  /** Where the next page begins. */
  nextCursor: string;
}

const row = {
  id: 'uuid?',
  type: 'text?',
  facts: 'json',
  createdAt: 'timestamptz?',
  contentExpungedAt: 'timestamptz?',
  transaction: 'bigint?',
  /** Whether the page has all events that are settled. */
  isLast: 'boolean',
  settled: 'bigint',
  isRecorded: 'boolean',
} as const;

const columns = 'id, type, facts, created_at, content_expunged_at, transaction_number';
const ofTenant = `organization_id = :organizationId and environment = :environment
            and (transaction_number, id) > (:transaction, :eventId) and transaction_number < bound.settled`;

/** @param found a CTE with `columns`, and `ends` with a row that says in `is_last` whether it has all events */
const pageOf = (found: string) => `with bound as materialized (select ${settledTransaction} as settled),
   ${found},
   sized as (
     select *, sum(octet_length(facts::text)) over (order by transaction_number, id) - octet_length(facts::text) as before
       from found),
   page as (select * from sized where before < ${maxPageBytes})
   select p.id, p.type, p.facts, p.created_at as "createdAt", p.content_expunged_at as "contentExpungedAt", p.transaction_number as transaction,
          e.is_last and (select count(*) from page) = (select count(*) from found) as "isLast", b.settled, ${isRecorded} as "isRecorded"
     from bound b cross join ends e left join page p on true
    order by p.transaction_number, p.id`;

const listAll = statement({
  name: 'event.list',
  parameters: { transaction: 'bigint', eventId: 'uuid', limit: 'int' },
  row,
  text: pageOf(`found as materialized (
     select e.* from bound cross join lateral (
         select ${columns} from event where ${ofTenant} order by transaction_number, id limit :limit) e),
   ends as (select count(*) < :limit as is_last from found)`),
});

// Reads as many of each type as make a page, however many types there are. The page ends where the first of them ends.
const listTypes = statement({
  name: 'event.list_types',
  parameters: { transaction: 'bigint', eventId: 'uuid', limit: 'int', types: 'text[]' },
  row,
  text: pageOf(`share as materialized (select (:limit + cardinality(:types) - 1) / cardinality(:types) as size),
   of_types as materialized (
     select e.*, row_number() over (partition by e.type order by e.transaction_number, e.id) as nth
       from bound cross join share cross join unnest(:types) as t (name) cross join lateral (
         select ${columns} from event where ${ofTenant} and type = t.name
          order by transaction_number, id limit (select size from share)) e),
   cut as materialized (
     select o.transaction_number, o.id from of_types o cross join share where o.nth = share.size
      order by o.transaction_number, o.id limit 1),
   found as materialized (
     select ${columns} from of_types
      where not exists (select from cut) or (transaction_number, id) <= (select c.transaction_number, c.id from cut c)
      order by transaction_number, id limit :limit),
   ends as (select not exists (select from cut) as is_last)`),
});

type EventRow = RowOf<typeof listAll>;

interface EventListServices {
  database: Database;
  events: EventCatalog;
  eventArrivals: EventArrivals;
}

/** @throws AppError validation_error at `after` */
async function positionOf({ database }: EventListServices, after: string | undefined): Promise<EventPosition> {
  const { oldest, settled } = await listedTransactions(database);
  if (after === undefined) return beforeTransaction(oldest);
  const position = parseCursor(after);
  if (!position || position.transaction > settled) {
    throw invalid([{ path: 'after', message: 'Expected the nextCursor of an earlier answer.' }]);
  }
  if (position.transaction >= oldest) return position;
  const message = `The cursor is older than ${feedDays} days. Without \`after\`, the list begins with the oldest event.`;
  throw invalid([{ path: 'after', message }]);
}

const page = (scope: Scope, position: EventPosition, { types, limit }: EventQuery): Promise<EventRow[]> => {
  const { transaction, eventId } = position;
  const from = { transaction, eventId, limit };
  return types ? scope.rows(listTypes, { ...from, types: [...new Set(types)] }) : scope.rows(listAll, from);
};

/**
 * Lists events in the order of their commits.
 * @param wait until when to wait for an event where there is none; undefined for not at all
 * @throws AppError validation_error at `after` for a text that is no cursor, and for a cursor that is too old
 */
export async function listEvents(
  services: EventListServices,
  scope: Scope,
  query: EventQuery,
  wait?: { withinMs: number; giveUp: AbortSignal },
): Promise<EventPage> {
  const deadline = performance.now() + (wait?.withinMs ?? 0);
  let position = await positionOf(services, query.after);
  for (;;) {
    const rows = await page(scope, position, query);
    const [{ isLast, settled, isRecorded: recorded }] = rows as [EventRow];
    const found = rows.flatMap(({ id, type, facts, createdAt, contentExpungedAt }) =>
      id && type && createdAt ? [{ id, type, facts, createdAt, contentExpungedAt }] : [],
    );
    // A page that ends early continues after its last event; a complete page continues with the unsettled events.
    const last = rows.at(-1)!;
    position = isLast
      ? beforeTransaction(BigInt(settled))
      : { transaction: BigInt(last.transaction!), eventId: last.id! };
    // Reading the list is a use of events.
    if (!recorded) await recordEvents(scope);
    const left = deadline - performance.now();
    if (found.length > 0 || left <= 0 || !wait || wait.giveUp.aborted) {
      const events = found.flatMap(({ contentExpungedAt: at, ...event }): Record<string, unknown>[] => {
        const declared = services.events.get(event.type);
        if (!declared) return [];
        return [{ ...(at ? expungedBodyOf(declared, event, at) : bodyOf(declared, event)) }];
      });
      return { events, nextCursor: formatCursor(position) };
    }
    await services.eventArrivals.next(scope.tenant, position, left, wait.giveUp);
  }
}
