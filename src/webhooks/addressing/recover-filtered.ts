import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { bodyOf } from '../core/event-body.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { requireActive } from '../dead-letters/replay.ts';
import { takeBacklogShare } from '../deliveries/delivery-backlog.ts';
import {
  deliveriesChannel,
  deliveryColumns,
  isTestEvent,
  listens,
  newDelivery,
  sendableEvent,
} from '../deliveries/publish-event.ts';
import { afterPart, isInPass } from '../deliveries/recovery-sql.ts';
import { countFilterErrors } from './addressing-sql.ts';
import type { FilterEvaluator } from './filters.ts';
import { orderKeyOf } from './order-key.ts';

/*
 * The events of a recovery for a webhook with a filter: read and evaluated outside of any transaction, in parts of a
 * bounded size, and written in one transaction that moves the cursor, unless another process has moved it.
 */

/** Events that one part reads, and bytes of their facts; one event at least. */
const perPart = { events: 200, bytes: 1_048_576 };
const perTask = 20;

const ofThis = 'r.organization_id = :organizationId and r.environment = :environment and r.id = :recoveryId';

const readPart = statement({
  name: 'recovery.filtered_part',
  parameters: { recoveryId: 'uuid' },
  row: {
    /** Where the part begins. */
    fromId: 'uuid',
    readsLate: 'boolean',
    subscriptionId: 'uuid',
    filter: 'text?',
    isOrdered: 'boolean',
    /** The event; null where the part has none. */
    id: 'uuid?',
    type: 'text?',
    createdAt: 'timestamptz?',
    /** Null for an event that the webhook has, or is not to have. */
    facts: 'json?',
    isLast: 'boolean',
  },
  text: `with found as materialized (
     select e.* from recovery r cross join lateral (
         select id, created_at, type, is_test, expunge_requested_at, facts from event
          where organization_id = :organizationId and environment = :environment
            and (created_at, id) > (r.after_at, r.after_id) and ${isInPass('event')}
            and created_at <= r.until and created_at <= r.window_end
          order by created_at, id limit ${perPart.events}) e
      where ${ofThis}),
   sized as (
     select *, sum(octet_length(facts::text)) over (order by created_at, id) - octet_length(facts::text) as before
       from found),
   part as materialized (select * from sized where before < ${perPart.bytes})
   select r.after_id as "fromId", r.reads_late as "readsLate", s.id as "subscriptionId", s.filter, s.ordering <> 'none' as "isOrdered",
          e.id, e.type, e.created_at as "createdAt",
          case when ${listens('s', 'e')} and not ${isTestEvent('e')} and e.expunge_requested_at is null
                 and (r.event_types is null or r.event_types @> to_jsonb(e.type::text))
                 and e.created_at >= greatest(s.created_at, s.recoverable_from)
                 and not exists (select from delivery d where d.subscription_id = s.id and d.event_id = e.id)
               then e.facts end as facts,
          (select count(*) from found) < ${perPart.events}
            and (select count(*) from part) = (select count(*) from found) as "isLast"
     from recovery r join webhook_subscription s on s.id = r.subscription_id left join part e on true
    where ${ofThis} and r.finished_at is null and r.reads_events
    order by e.created_at, e.id`,
});

const lockAt = statement({
  name: 'recovery.lock_at',
  parameters: { recoveryId: 'uuid', fromId: 'uuid', readsLate: 'boolean' },
  row: { id: 'uuid' },
  text: `select id from recovery r where ${ofThis} and r.finished_at is null and r.reads_events and r.after_id = :fromId
      and r.reads_late = :readsLate
    for update`,
});

// The new deliveries are the latest of the list, as all that are recovered are.
const writePart = statement({
  name: 'recovery.write_filtered',
  parameters: {
    recoveryId: 'uuid',
    subscriptionId: 'uuid',
    eventIds: 'uuid[]',
    subjects: 'text?[]',
    lastId: 'uuid?',
    isLast: 'boolean',
  },
  row: { queued: 'int' },
  text: `with missed as (
     insert into delivery (${deliveryColumns}, subject)
     ${newDelivery('e', 's', 'atelier_now()')}, m.subject
       from unnest(:eventIds, :subjects) with ordinality as m (event_id, subject, nth)
      cross join lateral (select id, type, created_at from event where id = m.event_id offset 0) e
      cross join lateral (select :subscriptionId as id) s
      cross join lateral ${sendableEvent('e.id')} sendable
      order by m.nth
     on conflict (subscription_id, event_id) do nothing
     returning id),
   done as (select count(*)::int as queued from missed),
   moved as (
     update recovery r
        set queued = r.queued + done.queued,
            ${afterPart(':isLast', { at: '(select created_at from event where id = :lastId)', id: ':lastId' })}
       from done where ${ofThis})
   select queued, pg_notify('${deliveriesChannel}', '') from done`,
});

export interface FilteredRecoveryServices {
  eventFilters: Pick<FilterEvaluator, 'match'>;
  events: EventCatalog;
}

/**
 * Does the next part of the events of a recovery.
 * @param atEnd further work of the transaction that ends it, or its first pass through the events
 * @throws AppError not_found, conflict when the webhook is turned off; WorkQueueFull
 */
export async function recoverFilteredPart(
  { eventFilters, events }: FilteredRecoveryServices,
  scope: Scope,
  recoveryId: string,
  atEnd: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const part = await scope.rows(readPart, { recoveryId });
  const [first] = part;
  if (!first) return;
  const { fromId, readsLate, subscriptionId, isLast } = first;
  const wanted = part.flatMap(({ id, type, createdAt, facts, filter }) => {
    const declared = facts && type ? events.get(type) : undefined;
    if (!declared || !id || !createdAt) return [];
    return [{ id, body: bodyOf(declared, { id, type: declared.type, facts, createdAt }), filter: filter ?? 'true' }];
  });
  const missed: (typeof wanted)[number][] = [];
  let errors = 0;
  for (let at = 0; at < wanted.length; at += perTask) {
    const some = wanted.slice(at, at + perTask);
    const outcomes = await eventFilters.match(scope.tenantKey, some);
    missed.push(...some.filter((_, index) => outcomes[index] === 'matches'));
    errors += outcomes.filter((outcome) => outcome === 'failed').length;
  }
  await scope.transaction(async (tx) => {
    await requireActive(tx, subscriptionId);
    if (!(await tx.one(lockAt, { recoveryId, fromId, readsLate }))) return;
    if (errors > 0) await tx.rows(countFilterErrors, { webhookIds: [subscriptionId], counts: [errors] });
    const eventIds = missed.map(({ id }) => id);
    const subjects = missed.map(({ body }) => (first.isOrdered ? orderKeyOf(body) : null));
    const end = { lastId: part.at(-1)!.id, isLast };
    const { queued } = (await tx.one(writePart, { recoveryId, subscriptionId, eventIds, subjects, ...end }))!;
    await takeBacklogShare(tx, queued);
    if (isLast) await atEnd(tx);
  });
}
