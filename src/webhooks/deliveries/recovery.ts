import { clock } from '../../platform/clock.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { tenancyLimits } from '../../tenancy/core/limits.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { type FilteredRecoveryServices, recoverFilteredPart } from '../addressing/recover-filtered.ts';
import { type ReplayServices, renewed, requireActive } from '../dead-letters/replay.ts';
import { settledTransaction } from '../events/transaction-clock.ts';
import { failPoint } from '../fail-points.ts';
import { beginRetries } from '../retries/retry-release.ts';
import { hasFullBacklog, takeBacklogShare } from './delivery-backlog.ts';
import {
  deliveriesChannel,
  deliveryColumns,
  eventIdOf,
  isTestEvent,
  listens,
  newDelivery,
  readsEvent,
  sendableEvent,
} from './publish-event.ts';
import { afterPart, isInPass, noId } from './recovery-sql.ts';

/*
 * A recovery processes the dead letters of a subscription and then the events of its tenant, oldest first, in parts of
 * a bounded size. Each part is a transaction that also moves the cursor, so that each is processed exactly once. The
 * first parts belong to the request; the rest is work of the outbox.
 *
 * A transaction that was open at the begin may have recorded an event for the subscription as it was before, and commit it
 * behind the cursor. When these transactions have ended, their events are processed once more.
 */

/** Dead letters, or events, that one part reads. */
const perPart = 1_000;
/** Parts that the request itself does: of dead letters, and one of events, which creates deliveries. */
const maxParts = 3;
/** How long the outbox works on a recovery before other entries follow. */
const maxWorkMs = 8_000;

interface Recovery {
  /** A canonical uuid. */
  recoveryId: string;
  /** Deliveries that were replayed or created so far. */
  queued: number;
  /** Whether these are all. */
  complete: boolean;
}

/** The filter of a recovery. */
interface RecoveryFilter {
  since: Date;
  /** Dead letters and events that were created later are left out. */
  until?: Date | undefined;
  eventTypes?: readonly string[] | undefined;
  /** Only dead letters whose last attempt was answered so, and no events that were missed. */
  statusClass?: RecoveredClass | undefined;
}

/** Classes of status of dead letters; `error`: the last attempt was not answered, or there was no attempt. */
export const recoveredClasses = ['4xx', '5xx', 'error'] as const;
type RecoveredClass = (typeof recoveredClasses)[number];

const begin = statement({
  name: 'recovery.begin',
  parameters: {
    recoveryId: 'uuid',
    subscriptionId: 'uuid',
    since: 'timestamptz',
    windowEnd: 'timestamptz?',
    eventTypes: 'jsonb?',
    statusClass: 'text?',
  },
  text: `insert into recovery (id, organization_id, environment, subscription_id, since, until, window_end, event_types,
    status_class, reads_events, late_from, late_until, after_at, after_id, queued)
   select :recoveryId, :organizationId, :environment, id, reach.since, atelier_now(),
     coalesce(:windowEnd, 'infinity'), :eventTypes, :statusClass, false, late.first,
     case when late.first is not null then pg_snapshot_xmax(pg_current_snapshot())::text::bigint end,
     reach.since, '${noId}', 0
     from webhook_subscription
    cross join (select min(open::text::bigint) as first from pg_snapshot_xip(pg_current_snapshot()) open) late
    cross join lateral (select greatest(:since, recoverable_from) as since) reach
    where organization_id = :organizationId and environment = :environment and id = :subscriptionId`,
});

const findPlan = statement({
  name: 'recovery.plan',
  parameters: { subscriptionId: 'uuid' },
  row: { plan: typed<PlanName>('text') },
  text: `select o.plan from webhook_subscription s join organization o on o.id = s.organization_id
    where s.organization_id = :organizationId and s.environment = :environment and s.id = :subscriptionId`,
});

const dayMs = 86_400_000;

/** @throws AppError validation_error when the log of deliveries does not reach back so far */
async function requireKept(tx: Transaction, subscriptionId: string, since: Date): Promise<void> {
  const { plan } = (await tx.one(findPlan, { subscriptionId }))!;
  const days = tenancyLimits.retentionDays.of(plan);
  if (since.getTime() >= clock.now() - days * dayMs) return;
  throw invalid([
    { path: 'since', message: `Expected a time within the last ${days} days, which the plan ${plan} keeps.` },
  ]);
}

interface RecoveryRow {
  subscriptionId: string;
  readsEvents: boolean;
  /** Whether it processes events that were committed late, and whether all of them are committed. */
  readsLate: boolean;
  isSettled: boolean;
  /** Whether the bodies of events decide which are delivered: see recover-filtered.ts. */
  readsBodies: boolean;
  /** Whether it ends with the dead letters. */
  skipsEvents: boolean;
  /** Whether it may leave out events that were missed since its begin. */
  isNarrowed: boolean;
  queued: number;
}

const recoveryRow = {
  subscriptionId: 'uuid',
  readsEvents: 'boolean',
  readsLate: 'boolean',
  isSettled: 'boolean',
  readsBodies: 'boolean',
  skipsEvents: 'boolean',
  isNarrowed: 'boolean',
  queued: 'int',
} as const;

const selectOpen = `select subscription_id as "subscriptionId", reads_events as "readsEvents",
    reads_late as "readsLate", coalesce(late_until <= ${settledTransaction}, true) as "isSettled",
    status_class is not null as "skipsEvents",
    (window_end < 'infinity' or event_types is not null or status_class is not null) as "isNarrowed", queued,
    (select ${readsEvent('s')} from webhook_subscription s where s.id = subscription_id) as "readsBodies"
     from recovery
    where organization_id = :organizationId and environment = :environment and id = :recoveryId and finished_at is null`;
const findRecovery = statement({
  name: 'recovery.find',
  parameters: { recoveryId: 'uuid' },
  row: recoveryRow,
  text: selectOpen,
});
const lockRecovery = statement({
  name: 'recovery.lock',
  parameters: { recoveryId: 'uuid' },
  row: recoveryRow,
  text: `${selectOpen} for update`,
});

const ofThis = 'r.organization_id = :organizationId and r.environment = :environment and r.id = :recoveryId';
const isLast = `(select count(*) from part) < ${perPart}`;
const latest = '(select created_at, id from part order by created_at desc, id desc limit 1) latest';
const isOfType = (row: string) => `(r.event_types is null or r.event_types @> to_jsonb(${row}.event_type::text))`;
const answer = `select (select count(*)::int from part) as read, queued, retried, pg_notify('${deliveriesChannel}', '') from done`;

// Deliveries that are dead-lettered again during the recovery are not replayed again. Reads the whole time range,
// however narrow the filter is, so that a part costs no more if few match; locks deliveries before their events.
const recoverDeadLetters = statement({
  name: 'recovery.dead_letters',
  parameters: { recoveryId: 'uuid' },
  row: { read: 'int', queued: 'int', retried: 'boolean' },
  text: `with part as materialized (
     select d.* from recovery r cross join lateral (
         select id, created_at, event_id, resent_event_id, event_type, status_code from delivery
          where organization_id = :organizationId and environment = :environment and subscription_id = r.subscription_id
            and status = 'dead_lettered' and (created_at, id) > (r.after_at, r.after_id) and created_at <= r.window_end
            and (finished_at is null or finished_at <= r.until)
          order by created_at, id limit ${perPart} for update) d
      where ${ofThis}),
   wanted as materialized (
     select p.id from recovery r cross join part p cross join lateral ${sendableEvent(eventIdOf('p'))} e
      where ${ofThis} and ${isOfType('p')}
        and (r.status_class is null
          or r.status_class = case when p.status_code is null then 'error' else p.status_code / 100 || 'xx' end)),
   renewed as (
     update delivery d set ${renewed('false')} from wanted
      where d.organization_id = :organizationId and d.environment = :environment and d.id = wanted.id
        and d.status = 'dead_lettered'
     returning d.id, d.attempts),
   done as (select count(*)::int as queued, coalesce(bool_or(attempts > 0), false) as retried from renewed),
   moved as (
     update recovery r
        set queued = r.queued + done.queued, reads_events = ${isLast},
            finished_at = case when ${isLast} and r.status_class is not null then atelier_now() end,
            after_at = case when ${isLast} then greatest(r.since, s.created_at) else latest.created_at end,
            after_id = case when ${isLast} then '${noId}' else latest.id end
       from done cross join webhook_subscription s left join ${latest} on true
      where ${ofThis} and s.id = r.subscription_id)
   ${answer}`,
});

// The new deliveries are the latest of the list, as resent ones are.
const recoverEvents = statement({
  name: 'recovery.events',
  parameters: { recoveryId: 'uuid' },
  row: { read: 'int', queued: 'int', retried: 'boolean' },
  text: `with part as (
     select e.* from recovery r cross join lateral (
         select id, created_at, type, type as event_type, is_test from event
          where organization_id = :organizationId and environment = :environment
            and (created_at, id) > (r.after_at, r.after_id) and ${isInPass('event')}
            and created_at <= r.until and created_at <= r.window_end
          order by created_at, id limit ${perPart}) e
      where ${ofThis}),
   wanted as materialized (
     select e.id, e.type, e.created_at, s.id as webhook_id from part e
       join recovery r on ${ofThis} and ${isOfType('e')}
       join webhook_subscription s on s.id = r.subscription_id and ${listens('s', 'e')} and not ${readsEvent('s')}
      where not ${isTestEvent('e')} and e.created_at >= greatest(s.created_at, s.recoverable_from)
        and not exists (select from delivery d where d.subscription_id = s.id and d.event_id = e.id)),
   missed as (
     insert into delivery (${deliveryColumns})
     ${newDelivery('e', 's', 'atelier_now()')} from wanted e
      cross join lateral (select e.webhook_id as id) s
      cross join lateral ${sendableEvent('e.id')} sendable
      order by e.created_at, e.id
     on conflict (subscription_id, event_id) do nothing
     returning id),
   done as (select count(*)::int as queued, false as retried from missed),
   moved as (
     update recovery r
        set queued = r.queued + done.queued,
            ${afterPart(isLast, { at: 'latest.created_at', id: 'latest.id' })}
       from done left join ${latest} on true
      where ${ofThis})
   ${answer}`,
});

// The recovered events no longer count as skipped. Events after its request may.
const forgetSkipped = statement({
  name: 'recovery.forget_skipped',
  parameters: { recoveryId: 'uuid' },
  text: `with rest as (
     select r.subscription_id, min(e.created_at) as first_at,
            -- Which of them match a filter is not known here.
            least(count(e.id)::int, k.count) as count
       from recovery r
       join skipped_events k on k.subscription_id = r.subscription_id and k.first_at >= r.since
       join webhook_subscription s on s.id = r.subscription_id
       left join event e on e.organization_id = :organizationId and e.environment = :environment
         and e.created_at > r.until
             and e.created_at <= k.last_at and ${listens('s', 'e')} and e.expunge_requested_at is null
             and not exists (select from delivery d where d.subscription_id = s.id and d.event_id = e.id)
             and not exists (select from event_fan_out f
                              where f.organization_id = :organizationId and f.environment = :environment
                                and f.event_id = e.id)
      where ${ofThis} group by r.subscription_id, k.count),
   gone as (
     delete from skipped_events k using rest
      where k.organization_id = :organizationId and k.environment = :environment
        and k.subscription_id = rest.subscription_id and rest.count = 0)
   update skipped_events k set count = rest.count, first_at = rest.first_at from rest
    where k.organization_id = :organizationId and k.environment = :environment
      and k.subscription_id = rest.subscription_id and rest.count > 0`,
});

const finish = statement({
  name: 'recovery.finish',
  parameters: { recoveryId: 'uuid' },
  text: `update recovery set finished_at = atelier_now() where organization_id = :organizationId
    and environment = :environment and id = :recoveryId`,
});

/**
 * Processes the next part for a webhook with a filter. If the webhook is turned off meanwhile, the next transaction ends
 * the recovery.
 */
async function recoverFiltered(
  services: FilteredRecoveryServices,
  scope: Scope,
  { recoveryId, isNarrowed }: { recoveryId: string; isNarrowed: boolean },
): Promise<void> {
  const atEnd = async (tx: Transaction) => {
    if (!isNarrowed) await tx.rows(forgetSkipped, { recoveryId });
  };
  try {
    await recoverFilteredPart(services, scope, recoveryId, atEnd);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

/**
 * Processes the next part of a recovery, of a subscription that is locked and active. @returns the remaining work and
 * the result
 */
async function recoverPart(
  tx: Transaction,
  recoveryId: string,
  of: RecoveryRow,
): Promise<RecoveryRow & { complete: boolean }> {
  const { subscriptionId, readsEvents, skipsEvents, isNarrowed } = of;
  const { read, queued, retried } = (await tx.one(readsEvents ? recoverEvents : recoverDeadLetters, { recoveryId }))!;
  if (retried) await beginRetries(tx, [subscriptionId]);
  await takeBacklogShare(tx, queued);
  const isLastPart = read < perPart;
  if (readsEvents && isLastPart && !isNarrowed) await tx.rows(forgetSkipped, { recoveryId });
  return {
    ...of,
    readsEvents: readsEvents || isLastPart,
    queued: of.queued + queued,
    complete: (readsEvents || skipsEvents) && isLastPart,
  };
}

/**
 * Delivers what did not arrive since then: dead letters, and events that the subscription missed while it was off.
 * Events from before the subscription was created, and those whose content was removed, are not included. The first
 * deliveries are queued at once and the others soon.
 * @throws AppError not_found, conflict when it is turned off, validation_error when `since` is before the log of deliveries
 */
export async function recoverDeliveries(
  services: ReplayServices,
  scope: Scope,
  subscriptionId: string,
  { since, until, eventTypes, statusClass }: RecoveryFilter,
  claim?: IdempotencyClaim,
): Promise<Once<Recovery>> {
  const recover = async (tx: Transaction): Promise<Recovery> => {
    await requireActive(tx, subscriptionId);
    await requireKept(tx, subscriptionId, since);
    const recoveryId = newId();
    await tx.rows(begin, {
      recoveryId,
      subscriptionId,
      since,
      windowEnd: until ?? null,
      eventTypes: eventTypes ? JSON.stringify(eventTypes) : null,
      statusClass: statusClass ?? null,
    });
    const begun = (await tx.one(findRecovery, { recoveryId }))!;
    let done = { ...begun, complete: false };
    const isFull = await hasFullBacklog(tx);
    for (let part = 0, isEnough = isFull; part < maxParts && !done.complete && !isEnough; part++) {
      isEnough = done.readsEvents;
      done = await recoverPart(tx, recoveryId, done);
      if (done.readsEvents && done.readsBodies) break;
    }
    const isOver = (await tx.one(findRecovery, { recoveryId })) === undefined;
    if (!isOver && !isFull) await tx.enqueue('webhook.recover', recoveryId);
    return { recoveryId, queued: done.queued, complete: done.complete };
  };
  const once = await scope.transaction(recover, { claim });
  failPoint('delivery.recovered');
  if (!once.replayed) services.deliveries.wake();
  return once;
}

/**
 * Continues a recovery, and returns to it later if it takes long. It ends when the subscription is turned off. While
 * too many deliveries wait, or transactions of its begin are open, it pauses until `sweepDeliveryBacklog` resumes it.
 */
export async function continueRecovery(
  services: FilteredRecoveryServices,
  scope: Scope,
  recoveryId: string,
): Promise<void> {
  const end = performance.now() + maxWorkMs;
  /** @returns the recovery, if the bodies of its events are to be read outside of the transaction */
  const proceed = async (tx: Transaction): Promise<'over' | 'done a part' | RecoveryRow> => {
    const recovery = await tx.one(findRecovery, { recoveryId });
    if (!recovery || (await hasFullBacklog(tx))) return 'over';
    try {
      await requireActive(tx, recovery.subscriptionId);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      await tx.rows(finish, { recoveryId });
      return 'over';
    }
    // Another process may have continued it until the subscription was locked.
    const current = await tx.one(lockRecovery, { recoveryId });
    if (!current || (current.readsLate && !current.isSettled)) return 'over';
    if (current.readsEvents && current.readsBodies) return current;
    await recoverPart(tx, recoveryId, current);
    return 'done a part';
  };
  while (performance.now() < end) {
    const done = await scope.transaction(proceed);
    if (done === 'over') return;
    if (done !== 'done a part') await recoverFiltered(services, scope, { recoveryId, isNarrowed: done.isNarrowed });
    failPoint('delivery.recovery_part');
  }
  await scope.transaction((tx) => tx.enqueue('webhook.recover', recoveryId));
}
