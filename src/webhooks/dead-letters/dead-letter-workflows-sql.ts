import { systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { eventOf } from '../deliveries/publish-event.ts';

/** Maximum per subscription; older ones are replayed by a redrive, the command line or the API. */
const maxDeadLetters = 1_000;

/** In `parked_at`, as SQL: the workflow of the dead letter is to end, and may not know it yet. '-infinity': it has none. */
export const leaving = 'epoch';

// Each names the condition of a partial index.
const isUnparked = "status = 'dead_lettered' and (parked_at is null or parked_at = 'infinity')";
const isUnparking = "status <> 'dead_lettered' and parked_at > '-infinity'";

export const tryLock = systemStatement({
  name: 'dead_letter_workflow.try_lock',
  row: { taken: 'boolean' },
  text: `select pg_try_advisory_xact_lock(hashtextextended('webhooks.parking', 0)) as taken`,
});

/** Subscriptions that have dead letters which were not looked at. Skips along the index. */
export const findUnparked = systemStatement({
  name: 'dead_letter_workflow.subscriptions',
  row: { id: 'uuid' },
  text: `with recursive unparked as (
     (select subscription_id as id, 1 as nth from delivery where ${isUnparked} order by subscription_id limit 1)
     union all
     select n.id, unparked.nth + 1 from unparked cross join lateral (
       select subscription_id as id from delivery where ${isUnparked} and subscription_id > unparked.id
        order by subscription_id limit 1) n
      where unparked.nth < 1000)
   select id from unparked order by random() limit 100`,
});

// Each subscription's oldest dead letter that is to have a workflow.
const oldestKept = `(select s.id as subscription_id, t.created_at, t.id from unnest(:subscriptions) as s (id)
       cross join lateral (
         select created_at, id from delivery where subscription_id = s.id and status = 'dead_lettered'
          order by created_at desc, id desc offset ${maxDeadLetters - 1} limit 1) t)`;

/** Dead letters beyond the newest thousand get no workflow. Many may become dead letters at once. */
export const leaveOlder = systemStatement({
  name: 'dead_letter_workflow.leave',
  parameters: { subscriptions: 'uuid[]' },
  row: { id: 'uuid' },
  text: `update delivery set parked_at = '-infinity'
    where id in (
      select d.id from ${oldestKept} kept cross join lateral (
        select id from delivery
         where subscription_id = kept.subscription_id and ${isUnparked}
           and (created_at, id) < (kept.created_at, kept.id)
         limit 5000 for update skip locked) d)
   returning id`,
});

/** Dead letters beyond the newest ones, and those whose workflows have not been signalled: their workflows must end. */
export const leaveSurplus = systemStatement({
  name: 'dead_letter_workflow.surplus',
  parameters: { subscriptions: 'uuid[]', perSecond: 'int' },
  row: { id: 'uuid' },
  text: `update delivery set parked_at = '${leaving}'
    where id in (
      select d.id from ${oldestKept} kept cross join lateral (
        select id from delivery
         where subscription_id = kept.subscription_id and status = 'dead_lettered' and parked_at > '-infinity'
           and (created_at, id) < (kept.created_at, kept.id)
         order by created_at, id limit :perSecond for update skip locked) d limit :perSecond)
   returning id`,
});

/** A dead letter whose workflow is to be started. */
export interface Unparked {
  id: string;
  organizationId: string;
  environment: Environment;
  subscriptionId: string;
  attempts: number;
  scheduleAttempts: number;
  statusCode: number | null;
  errorClass: string | null;
  eventType: string;
  webhookName: string;
  webhookUrl: string;
  correlationId: string;
  plan: PlanName;
}

/** The newest of each subscription first, then the next of each. */
export const findDeadLetters = systemStatement({
  name: 'dead_letter_workflow.letters',
  parameters: { subscriptions: 'uuid[]', perSecond: 'int' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    subscriptionId: 'uuid',
    attempts: 'int',
    scheduleAttempts: 'int',
    statusCode: 'int?',
    errorClass: 'text?',
    eventType: 'text',
    correlationId: 'text',
    plan: typed<PlanName>('text'),
    webhookName: 'text',
    webhookUrl: 'text',
  },
  text: `select d.id, d.organization_id as "organizationId", d.environment, d.subscription_id as "subscriptionId",
    d.attempts,
          d.schedule_attempts as "scheduleAttempts", d.status_code as "statusCode", d.error_class as "errorClass",
          e.type as "eventType", e.correlation_id as "correlationId", o.plan,
          w.name as "webhookName", w.url as "webhookUrl"
     from (select d.* from unnest(:subscriptions) as s (id) cross join lateral (
             select d.*, row_number() over (order by created_at desc, id desc) as nth from (
               select * from delivery where subscription_id = s.id and ${isUnparked}
                order by created_at desc, id desc limit :perSecond) d) d
            order by d.nth, random() limit :perSecond) d
     join organization o on o.id = d.organization_id join webhook_subscription w on w.id = d.subscription_id
     ${eventOf('d', 'type, correlation_id')} e`,
});

// Rows that another transaction changes are left for the next pass: many are locked in no order, which would deadlock.
const free = (condition: string) =>
  `id in (select id from delivery where id = any(:ids) and ${condition} for update skip locked)`;

/** Written before its workflow starts: a delivery that is replayed at the same time then has a workflow to signal. */
export const markStarting = systemStatement({
  name: 'dead_letter_workflow.begun',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid' },
  text: `update delivery set parked_at = 'infinity' where ${free(isUnparked)} returning id`,
});

export const markParked = systemStatement({
  name: 'dead_letter_workflow.parked',
  parameters: { ids: 'uuid[]' },
  text: `update delivery set parked_at = atelier_now() where ${free("parked_at = 'infinity'")}`,
});

/** Deliveries that are no longer dead letters and whose workflows have not been signalled. */
export const findUnparking = systemStatement({
  name: 'dead_letter_workflow.unparking',
  parameters: { perSecond: 'int' },
  row: { id: 'uuid' },
  text: `select id from delivery where ${isUnparking} order by id limit :perSecond`,
});

export const markUnparked = systemStatement({
  name: 'dead_letter_workflow.unparked',
  parameters: { ids: 'uuid[]' },
  text: `update delivery set parked_at = null where ${free(isUnparking)}`,
});

export const markLeft = systemStatement({
  name: 'dead_letter_workflow.left',
  parameters: { ids: 'uuid[]' },
  text: `update delivery set parked_at = '-infinity' where ${free(`parked_at = '${leaving}'
    and status = 'dead_lettered'`)}`,
});
