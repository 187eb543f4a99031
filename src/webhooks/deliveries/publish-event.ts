import type { EventType } from '../../platform/core/event-type.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { newId } from '../../platform/ids.ts';
import { testWebhook } from '../core/events.ts';
import { subscriptionIs } from '../core/subscription-state.ts';
import { isRecorded, ownTransaction } from '../events/recording.ts';

/** For SQL: whether an event is a test, for one webhook alone. Before the column existed, there was one type of them. */
export const isTestEvent = (event: string) => `(${event}.is_test or ${event}.type = '${testWebhook.type}')`;

/** The channel that wakes the dispatchers. */
export const deliveriesChannel = 'atelier_deliveries';
/** Its payload when events are to be addressed, see address-events.ts. */
export const addressingPayload = 'addressing';

/** Selects the row of a new delivery. @param at its time of creation, in SQL; by default the time of the event */
export const newDelivery = (event: string, subscription: string, at = `${event}.created_at`) =>
  `select uuidv7(), :organizationId, :environment, ${subscription}.id, ${event}.id, ${event}.type, 'pending', 0, 0, ${at}, false, ${at}`;

export const deliveryColumns = `id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
  schedule_attempts, next_attempt_at, response_body_truncated, created_at`;

export const listens = (subscription: string, event: string) =>
  `(${subscription}.events @> to_jsonb(${event}.type::text) or ${subscription}.events @> '"*"')`;

/** For SQL: whether the body of an event decides about its delivery to a webhook. */
export const readsEvent = (subscription: string) =>
  `(${subscription}.filter is not null or ${subscription}.ordering <> 'none')`;

/** For SQL: whether a trigger or a waiting step names the type of an event. Most of the time it is one look each at an index. */
export const isAwaited = (event: string) =>
  `(exists (select from event_trigger t
            where t.organization_id = :organizationId and t.environment = :environment and t.event = ${event}.type)
    or exists (select from run_wait w
                where w.organization_id = :organizationId and w.environment = :environment and w.event = ${event}.type and w.state = 'open'))`;

/**
 * A CTE that hands events to the triggers and waiting steps of workflows.
 * @param occurred a CTE with the columns id, type, subject_id, facts, correlation_id and created_at: those that are awaited
 */
export const newWorkflowEvents = (occurred: string) => `
   new_workflow_event as (
     insert into workflow_event (id, organization_id, environment, type, external_id, subject_id, is_own, content,
                                 correlation_id, received_at, looked_at, resumed, started, is_answered, is_complete)
     select o.id, :organizationId, :environment, o.type, 'evt_' || replace(o.id::text, '-', ''), o.subject_id, true, o.facts,
            o.correlation_id, o.created_at, 0, 0, 0, false, false
       from ${occurred} o
     on conflict (subject_id, type) where subject_id is not null do nothing)`;

/**
 * The id of a delivery's event, in SQL. Not with `coalesce`: PostgreSQL takes that for a function that may leak, and then
 * reads all events of the tenant before it compares ids, because row-level security comes first.
 */
export const eventIdOf = (delivery: string) =>
  `case when ${delivery}.resent_event_id is null then ${delivery}.event_id else ${delivery}.resent_event_id end`;

/**
 * Joins the event of a delivery by its id. With a plain join the planner, which takes a tenant's events to be few, would
 * read all of them.
 */
export const eventOf = (delivery: string, columns: string) =>
  `cross join lateral (select ${columns} from event where id = ${eventIdOf(delivery)} offset 0)`;

/**
 * For SQL: a row if a delivery of the event may be made or renewed. Until the end of the transaction its body stays: see
 * expunge.ts. A transaction that locks deliveries too locks them before.
 */
export const sendableEvent = (eventId: string) =>
  `(select from event where id = ${eventId} and expunge_requested_at is null offset 0 for share)`;

/** Deliveries that one statement creates at most. The events that would need more are left to the fan-out. */
const maxDirectDeliveries = 1_000;

/** For SQL: whether so many deliveries of the tenant wait that no more are created. */
export const isBacklogFull = `exists (select from delivery_backlog where organization_id = :organizationId and environment = :environment and room <= 0)`;

/** A CTE with the active webhooks of the tenant that listen to the types of the CTE `events`, one row for each type. */
export const listenersOf = (events: string) => `listener as materialized (
     select t.type, s.id, s.created_at, s.rules_changed_at, ${readsEvent('s')} as reads_event from (select distinct type from ${events}) t
       join webhook_subscription s on s.organization_id = :organizationId and s.environment = :environment and ${subscriptionIs('s', 'active')}
        and ${listens('s', 't')})`;

/**
 * CTEs that write the deliveries of `new_event` to the subscribed webhooks of the tenant: the first thousand. Further
 * events are delayed, see fan-out.ts, and so are all while too many deliveries wait. Events for webhooks with filters
 * are addressed later, see address-events.ts.
 */
export const newDeliveries = `${listenersOf('new_event')},
   addressed as (
     select e.id, e.type, e.created_at,
            sum(l.webhooks) over (order by e.created_at, e.id) > ${maxDirectDeliveries} or ${isBacklogFull} as waits
       from new_event e
       join (select type, count(*) as webhooks from listener where not reads_event group by type) l using (type)),
   to_address as (
     insert into event_addressing (organization_id, environment, event_id)
     select :organizationId, :environment, e.id from new_event e
      where exists (select from listener l where l.type = e.type and l.reads_event)
     returning event_id),
   put_off as (
     insert into event_fan_out (organization_id, environment, event_id)
     select :organizationId, :environment, id from addressed where waits
     returning event_id),
   new_delivery as (
     insert into delivery (${deliveryColumns})
     ${newDelivery('e', 's')} from addressed e join listener s using (type) where not e.waits and not s.reads_event
     returning id)`;

/**
 * CTEs that write events of the tenant and their deliveries, for the statement that writes their cause.
 * @param announced a CTE with the columns type, subject_id, facts and correlation_id, a row for each event
 * @returns the CTEs `new_event` and `new_delivery`. A tenant that does not use events gets none: see
 * events/recording.ts.
 */
export const publishEventsSql = (announced: string) => `
   occurred as materialized (
     select uuidv7() as id, atelier_now() as created_at, a.type, a.subject_id, a.facts, a.correlation_id
       from ${announced} a),
   awaited as (
     select o.* from occurred o
      where ${isAwaited('o')}
        and not exists (select from event e where e.subject_id = o.subject_id and e.type = o.type)),
   ${newWorkflowEvents('awaited')},
   new_event as (
     insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at,
                        transaction_number)
     select t.id, :organizationId, :environment, t.type, t.subject_id, t.facts, t.correlation_id, t.created_at,
            ${ownTransaction} from occurred t
      where ${isRecorded}
     on conflict (subject_id, type) do nothing
     returning id, type, created_at),
   ${newDeliveries}`;

/** An expression that wakes the dispatchers when `new_delivery` has rows, and the addressers when `to_address` has. */
export const wakeDeliveries = `case when exists (select from to_address) then pg_notify('${deliveriesChannel}', '${addressingPayload}')
          when exists (select from new_delivery) then pg_notify('${deliveriesChannel}', '') end`;

const publishStatement = statement({
  name: 'event.announce',
  parameters: { type: 'text', subjectId: 'uuid?', facts: 'json', correlationId: 'text' },
  row: { deliveries: 'bigint' },
  text: `with announced as (select :type as type, :subjectId as subject_id, :facts as facts,
    :correlationId as correlation_id),
   ${publishEventsSql('announced')}
   select count(*) as deliveries, ${wakeDeliveries} from new_delivery`,
});

/**
 * Writes an event and its deliveries, in the transaction of its cause.
 * @param subjectId what it is about: of each type there is one event per subject. Null for an event that may repeat.
 */
export async function publishEvent<Facts>(
  scope: Scope,
  { type }: EventType<Facts>,
  subjectId: string | null,
  facts: Facts,
): Promise<void> {
  await scope.one(publishStatement, {
    type,
    subjectId,
    facts: JSON.stringify(facts),
    correlationId: scope.correlationId,
  });
}

/** What happened to one of several subjects of the same tenant. */
interface Occurred<Facts> {
  /** There is one event of each type per subject. */
  subjectId: string;
  facts: Facts;
  correlationId: string;
}

const publishAllStatement = statement({
  name: 'event.announce_all',
  parameters: { type: 'text', rows: 'json' },
  row: { deliveries: 'bigint' },
  text: `with announced as (
     select :type as type, t.* from json_to_recordset(:rows) as t(subject_id uuid, facts json, correlation_id text)),
   ${publishEventsSql('announced')}
   select count(*) as deliveries, ${wakeDeliveries} from new_delivery`,
});

/** Writes an event of one type for each of several subjects, and their deliveries, in the transaction of their causes. */
export async function publishEvents<Facts>(
  scope: Scope,
  { type }: EventType<Facts>,
  occurred: readonly Occurred<Facts>[],
): Promise<void> {
  const rows = occurred.map(({ subjectId, facts, correlationId }) => {
    return { subject_id: subjectId, facts, correlation_id: correlationId };
  });
  await scope.one(publishAllStatement, { type, rows: JSON.stringify(rows) });
}

const publishTestStatement = statement({
  name: 'event.announce_test',
  parameters: { id: 'uuid', type: 'text', facts: 'json', correlationId: 'text', subscriptionId: 'uuid' },
  row: { deliveryId: 'uuid' },
  text: `with new_event as (
     insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at, is_test)
     values (:id, :organizationId, :environment, :type, null, :facts, :correlationId, atelier_now(), true)
     returning id, type, created_at),
   new_delivery as (
     insert into delivery (${deliveryColumns}, ignores_breaker)
     ${newDelivery('e', 's')}, true from new_event e join webhook_subscription s on s.id = :subscriptionId
     returning id)
   select id as "deliveryId", pg_notify('${deliveriesChannel}', '') from new_delivery`,
});

/**
 * Writes an event for one subscription, whichever events it subscribes to: a test. Its first attempt ignores an open
 * breaker.
 * @returns the delivery's id
 */
export async function publishTestEvent<Facts>(
  scope: Scope,
  subscriptionId: string,
  { type }: EventType<Facts>,
  facts: Facts,
): Promise<string> {
  const row = await scope.one(publishTestStatement, {
    id: newId(),
    type,
    facts: JSON.stringify(facts),
    correlationId: scope.correlationId,
    subscriptionId,
  });
  return row!.deliveryId;
}
