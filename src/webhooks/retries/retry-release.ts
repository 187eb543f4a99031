import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import type { RetryLook, RetryOrders } from '../../temporal/contracts/webhooks.ts';
import { openDelivery } from '../core/delivery-status.ts';
import { describeWebhook } from '../core/failure-sentence.ts';
import { describeWaiting, maxCounted, nextLookMs, type Waiting } from '../core/retry-release.ts';
import { deliveriesChannel } from '../deliveries/publish-event.ts';
import type { DeliveryPolicy } from '../dispatch/delivery-policy.ts';

/** For SQL: a delivery whose next attempt is not its first, and need not wait for another. Names the condition of a partial index. */
export const isWaiting = `status in (${openDelivery}) and attempts > 0 and not is_held`;

const releaseColumns = 'subscription_id, organization_id, environment, released_until, looks_at, created_at';

// Retries that are released before the workflow looks are due soon. A workflow that sleeps because everything was far
// away is woken, but not by each of many failures.
const beginStatement = statement({
  name: 'retry_release.begin',
  parameters: { subscriptionIds: 'uuid[]', correlationId: 'text', aheadMs: 'float8' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `with begun as (
     insert into retry_release as c (${releaseColumns})
     select id, :organizationId, :environment, atelier_now() + make_interval(secs => :aheadMs / 1000),
            atelier_now(), atelier_now()
       from (select distinct id from unnest(:subscriptionIds) as id order by id) wanted
     on conflict (subscription_id) do update
        set released_until = greatest(c.released_until, excluded.released_until),
            looks_at = least(c.looks_at, excluded.looks_at)
      where c.released_until < excluded.released_until - make_interval(secs => :aheadMs / 2000)
     returning subscription_id)
   ${enqueueSql('webhook.wake', { subject: 'subscription_id', correlation: ':correlationId', from: 'begun' })}
   ${replacingEarlier} returning subject_id as "subjectId", id as "entryId"`,
  enqueues: { 'webhook.wake': (row) => row },
});

/** For retries that are due at once. */
const soonMs = 10_000;

/**
 * Announces waiting retries of these subscriptions: starts their workflows, or wakes them from a long sleep. To be
 * called in the transaction that makes the retries wait, which has locked the subscriptions.
 * @param aheadMs how far retries are released before the workflow looks; by default what is due at once
 */
export async function beginRetries(scope: Scope, subscriptionIds: readonly string[], aheadMs = soonMs): Promise<void> {
  if (subscriptionIds.length === 0) return;
  await scope.rows(beginStatement, { subscriptionIds, correlationId: scope.correlationId, aheadMs });
}

const wakeStatement = statement({
  name: 'retry_release.wake',
  parameters: { subscriptionId: 'uuid', correlationId: 'text', sinceMs: 'float8' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `with woken as (
     update retry_release set looks_at = atelier_now()
      where organization_id = :organizationId and environment = :environment and subscription_id = :subscriptionId
        and created_at <= atelier_now() - make_interval(secs => :sinceMs / 1000)
     returning subscription_id)
   ${enqueueSql('webhook.wake', { subject: 'subscription_id', correlation: ':correlationId', from: 'woken' })}
   ${replacingEarlier} returning subject_id as "subjectId", id as "entryId"`,
  enqueues: { 'webhook.wake': (row) => row },
});

/**
 * Lets the workflow of a subscription look again, if it has one.
 * @param sinceMs only one that has had retries for so long
 */
export const wakeRetries = (scope: Scope, subscriptionId: string, sinceMs = 0): Promise<unknown> =>
  scope.rows(wakeStatement, { subscriptionId, correlationId: scope.correlationId, sinceMs });

// The lock is the one that records of failures hold: a failure is recorded before the end is decided, or after it.
const lockSubscription = statement({
  name: 'retry_release.lock_subscription',
  parameters: { subscriptionId: 'uuid' },
  row: {
    name: 'text',
    url: 'text',
    isDeleted: 'boolean',
    nextProbeAt: 'timestamptz?',
    failingSince: 'timestamptz?',
    lastFailedAt: 'timestamptz?',
    lastFailure: 'text?',
  },
  text: `select name, url, deleted_at is not null as "isDeleted", next_probe_at as "nextProbeAt",
          failing_since as "failingSince", last_failed_at as "lastFailedAt", last_failure as "lastFailure"
     from webhook_subscription where organization_id = :organizationId and environment = :environment
       and id = :subscriptionId for no key update`,
});

const releaseMore = statement({
  name: 'retry_release.release',
  parameters: { subscriptionId: 'uuid', aheadMs: 'float8', order: 'text?' },
  row: { pausedAt: 'timestamptz?', releasedBefore: 'timestamptz?' },
  text: `insert into retry_release as c (${releaseColumns}, paused_at)
   values (:subscriptionId, :organizationId, :environment, atelier_now() + make_interval(secs => :aheadMs / 1000),
           atelier_now(), atelier_now(), case when :order = 'pause' then atelier_now() end)
   on conflict (subscription_id) do update
      set released_until = greatest(c.released_until, excluded.released_until),
          paused_at = case :order when 'pause' then coalesce(c.paused_at, excluded.paused_at) when 'resume' then null
                           else c.paused_at end
   returning paused_at as "pausedAt", old.released_until as "releasedBefore"`,
});

/** In one statement, because many may wait. */
const maxHurried = 5_000;

const hurryWaiting = statement({
  name: 'delivery.hurry',
  parameters: { subscriptionId: 'uuid' },
  row: { id: 'uuid' },
  text: `update delivery set next_attempt_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id in (
      select id from delivery where organization_id = :organizationId and environment = :environment
        and subscription_id = :subscriptionId and ${isWaiting}
         and next_attempt_at > atelier_statement_now() order by next_attempt_at limit ${maxHurried} for update)
   returning id`,
});

const probeNow = statement({
  name: 'subscription.probe_now',
  parameters: { subscriptionId: 'uuid' },
  text: `update webhook_subscription set next_probe_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :subscriptionId
      and next_probe_at > atelier_now()`,
});

const ofIt = `from delivery where organization_id = :organizationId and environment = :environment and subscription_id = :subscriptionId`;
const releasedUntil = '(select released_until from retry_release where subscription_id = :subscriptionId)';

const readWaiting = statement({
  name: 'retry_release.waiting',
  parameters: { subscriptionId: 'uuid' },
  row: {
    now: 'timestamptz',
    count: 'int',
    nextAt: 'timestamptz?',
    lastReleasedAt: 'timestamptz?',
    nextUnreleasedAt: 'timestamptz?',
    deadLetters: 'int',
  },
  text: `select atelier_now() as now,
          (select count(*)::int from (select ${ofIt} and ${isWaiting} limit ${maxCounted}) w) as count,
          (select min(next_attempt_at) ${ofIt} and ${isWaiting}) as "nextAt",
          (select max(next_attempt_at) ${ofIt} and ${isWaiting}
            and next_attempt_at <= ${releasedUntil}) as "lastReleasedAt",
          (select min(next_attempt_at) ${ofIt} and ${isWaiting}
            and next_attempt_at > ${releasedUntil}) as "nextUnreleasedAt",
          (select count(*)::int from (select ${ofIt} and status = 'dead_lettered'
            limit ${maxCounted}) d) as "deadLetters"`,
});

const lookLater = statement({
  name: 'retry_release.look_later',
  parameters: { subscriptionId: 'uuid', waitMs: 'float8' },
  text: `update retry_release set looks_at = atelier_now() + make_interval(secs => :waitMs / 1000)
    where organization_id = :organizationId and environment = :environment and subscription_id = :subscriptionId`,
});

const endRelease = statement({
  name: 'retry_release.end',
  parameters: { subscriptionId: 'uuid' },
  text: `delete from retry_release where organization_id = :organizationId and environment = :environment
    and subscription_id = :subscriptionId`,
});

// Dispatchers look every second for the next due retries. Retries that were released before need no wake-up.
const wakeDispatchers = statement({
  name: 'delivery.wake_dispatchers',
  parameters: { subscriptionId: 'uuid', always: 'boolean', releasedBefore: 'timestamptz?' },
  text: `select pg_notify('${deliveriesChannel}', '')
    where :always
       or exists (select ${ofIt} and ${isWaiting} and next_attempt_at <= atelier_statement_now() + interval '1 second'
                   and (:releasedBefore is null or next_attempt_at > :releasedBefore))`,
});

const ms = (time: Date | null): number | null => time?.getTime() ?? null;

/**
 * One look of a subscription's workflow: performs the requests of operators, releases the retries that are due soon to
 * the dispatchers, and decides when to look again. Can be repeated.
 * @returns `over` when nothing waits: the next failure starts a workflow anew
 */
export function lookAtRetries(
  scope: Scope,
  subscriptionId: string,
  { pause, resume, retryNow }: RetryOrders,
  { clock }: Pick<DeliveryPolicy, 'clock'>,
): Promise<RetryLook> {
  return scope.transaction(async (tx): Promise<RetryLook> => {
    const subscription = await tx.one(lockSubscription, { subscriptionId });
    if (!subscription || subscription.isDeleted) {
      await tx.rows(endRelease, { subscriptionId });
      return { kind: 'over', details: 'The webhook was deleted.' };
    }
    const webhook = `Webhook ${describeWebhook(subscription.name, subscription.url)}`;
    const order = pause ? 'pause' : resume ? 'resume' : null;
    const { pausedAt, releasedBefore } = (await tx.one(releaseMore, {
      subscriptionId,
      aheadMs: clock.aheadMs,
      order,
    }))!;
    let isMore = false;
    if (retryNow && pausedAt === null) {
      isMore = (await tx.rows(hurryWaiting, { subscriptionId })).length === maxHurried;
      await tx.rows(probeNow, { subscriptionId });
    }
    const row = (await tx.one(readWaiting, { subscriptionId }))!;
    // Read again: it may be probing at once.
    const { nextProbeAt, failingSince, lastFailedAt, lastFailure } = (await tx.one(lockSubscription, {
      subscriptionId,
    }))!;
    const waiting: Waiting = {
      now: row.now.getTime(),
      count: row.count,
      nextAt: ms(row.nextAt),
      pausedAt: ms(pausedAt),
      lastReleasedAt: ms(row.lastReleasedAt),
      nextUnreleasedAt: ms(row.nextUnreleasedAt),
      probeAt: ms(nextProbeAt),
      failingSince: ms(failingSince),
      lastFailedAt: ms(lastFailedAt),
    };
    if (row.count === 0 && pausedAt === null) {
      await tx.rows(endRelease, { subscriptionId });
      return { kind: 'over', details: `${webhook}: ${describeWaiting(waiting, lastFailure, row.deadLetters)}` };
    }
    const waitMs = isMore ? 0 : nextLookMs(waiting, clock);
    await tx.rows(lookLater, { subscriptionId, waitMs });
    await tx.rows(wakeDispatchers, { subscriptionId, always: resume || retryNow, releasedBefore });
    const details = `${webhook}: ${describeWaiting(waiting, lastFailure, row.deadLetters)}`;
    return { kind: 'wait', waitMs, again: isMore, details };
  });
}
