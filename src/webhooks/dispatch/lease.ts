import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { type Sql, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { systemTransaction } from '../../platform/database/unit-of-work.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import { openDelivery } from '../core/delivery-status.ts';
import { divide, totalOf, wishesOf } from '../core/host-shares.ts';
import { type Capacity, type DueSubscription, type Plan, planDispatch, rateWaitMs } from '../core/plan-dispatch.ts';
import { subscriptionIs } from '../core/subscription-state.ts';
import { isWaiting } from '../retries/retry-release.ts';
import { changeOf, type LoadRow, loadColumns, loadOf, loadRow } from '../subscriptions/subscription-load.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { hostWaitMs, limitedHost, takeHostRate } from './host-rate.ts';
import { isDue, isFirst, isFree } from './ready.ts';
import { holdBack, isBehind } from './subject-order.ts';

const maxSubscriptions = 64;
/** Attempts of one subscription in one batch at most, so that others are not delayed. */
const maxOfSubscription = 64;

const isExempt = `ignores_breaker and status in (${openDelivery}) and not is_held`;

/** A retry that is due, and that the workflow of its subscription, whose clock is `c`, has released. */
const isRetry = `${isWaiting} and ${isDue} and next_attempt_at <= c.released_until`;

/** Subscriptions with such retries. A limit, so that the planner looks for each one's first. */
const retrying = `
     (select c.subscription_id from retry_release c
       cross join lateral (select from delivery where subscription_id = c.subscription_id and ${isRetry}
                            order by next_attempt_at limit 1) due)`;

/** Skips from subscription to subscription along a partial index, however many deliveries wait for each. */
export const subscriptionsOf = (condition: string) => `
     (with recursive due as (
        (select subscription_id as id from delivery where ${condition} order by subscription_id limit 1)
        union all
        select (select subscription_id from delivery where ${condition} and subscription_id > due.id
                 order by subscription_id limit 1)
          from due where due.id is not null)
      select id from due)`;

/** Whether its breaker lets something through, by the latest version of its row `s`. */
const mayBegin = `${subscriptionIs('s', 'active')}
      and (s.next_probe_at is null or s.next_probe_at <= atelier_now()
           or exists (select from delivery where subscription_id = s.id and ${isExempt} and ${isDue} and ${isFree}))`;

// The first delivery of each organization, then a second of each, and so on, each time in random order: an organization
// with many subscriptions, which may all be at their limits, does not crowd out others. Rows are looked up by their
// keys, whatever the planner assumes about these tables: `offset 0` and subqueries prevent it from turning a look-up
// into a join of whole tables, and `case` prevents it from searching the table by the condition that is checked again
// under the lock.
const lockDue = systemStatement({
  name: 'delivery.lock_due',
  parameters: { maxSubscriptions: 'int', spent: 'uuid[]' },
  row: { id: 'uuid', organizationId: 'uuid', isOrdered: 'boolean' },
  text: `with due as (
     select s.id, row_number() over (partition by s.organization_id order by random()) as turn
       from (${subscriptionsOf(isFirst)} union ${retrying}) d
      cross join lateral (select * from webhook_subscription where id = d.id offset 0) s
      where s.organization_id <> all(:spent) and ${mayBegin}
        and (select deleted_at from organization where id = s.organization_id) is null
        and (select paused_at from retry_release where subscription_id = s.id) is null)
   select s.id, s.organization_id as "organizationId",
          s.ordering <> 'none' or s.rules_changed_at is not null as "isOrdered" from due join webhook_subscription s on s.id = due.id
    where case when due.turn > 0 then ${mayBegin} end
    order by due.turn, random() limit :maxSubscriptions for no key update of s skip locked`,
});

const countOf = (condition: string) =>
  `(select count(*)::int from (select from delivery where subscription_id = s.id and ${condition} and ${isFree} limit wanted.attempts) free)`;

type DueRow = LoadRow & { url: string } & Pick<DueSubscription, 'exempt' | 'first' | 'retries'>;

const findLoads = systemStatement({
  name: 'delivery.loads',
  parameters: { lockedIds: 'uuid[]', maxAttempts: 'int[]' },
  row: { ...loadRow, url: 'text', exempt: 'int', first: 'int', retries: 'int' },
  text: `select ${loadColumns}, s.url, ${countOf(`${isExempt}
    and ${isDue}`)} as exempt, ${countOf(isFirst)} as first, ${countOf(isRetry)} as retries
     from unnest(:lockedIds, :maxAttempts) as wanted (id, attempts) join webhook_subscription s on s.id = wanted.id
     left join retry_release c on c.subscription_id = s.id order by random()`,
});

const admitMany = systemStatement({
  name: 'delivery.admit_many',
  parameters: { subscriptionIds: 'uuid[]', nextProbeAts: 'timestamptz?[]', rateFreeAts: 'timestamptz?[]' },
  text: `update webhook_subscription s set next_probe_at = g.next_probe_at, rate_free_at = g.rate_free_at
     from unnest(:subscriptionIds, :nextProbeAts, :rateFreeAts) as g (id, next_probe_at, rate_free_at)
    where s.id = g.id`,
});

const leaseStatement = (name: string, condition: string, order: string) =>
  systemStatement({
    name: name,
    parameters: { subscriptionIds: 'uuid[]', attempts: 'int[]', leaseMs: 'float8' },
    row: { deliveryId: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
    text: `update delivery set leased_until = atelier_now() + make_interval(secs => :leaseMs / 1000)
    where id in (
      select d.id from unnest(:subscriptionIds, :attempts) as g (subscription_id, attempts)
       left join retry_release c on c.subscription_id = g.subscription_id
       cross join lateral (
         select id, subscription_id, subject from delivery
          where subscription_id = g.subscription_id and ${condition} and ${isFree}
          order by ${order} limit g.attempts for update skip locked) d
      where d.subject is null or not ${isBehind('d')})
   returning id as "deliveryId", organization_id as "organizationId", environment`,
  });
const leases = [
  ['exempt', leaseStatement('delivery.lease_exempt', `${isExempt} and ${isDue}`, 'created_at')],
  ['first', leaseStatement('delivery.lease_first', isFirst, 'created_at')],
  ['retries', leaseStatement('delivery.lease_retries', isRetry, 'next_attempt_at')],
] as const;

/** A delivery whose next attempt belongs to the caller. */
export interface Leased extends Tenant {
  deliveryId: string;
}

interface DueAttempts {
  leased: Leased[];
  /**
   * After how long the next retry is due, or a rate limit or a busy receiver may allow more; undefined when nothing waits
   * for that.
   */
  waitMs: number | undefined;
}

interface LeaseServices {
  database: Database;
  egress: Pick<Egress, 'isOpened'>;
  deliveryPolicy: DeliveryPolicy;
}

/**
 * Plans without regard to hosts, requests a slot at each host for every attempt, and plans again if some were refused.
 */
async function planWithin(sql: Sql, capacity: Capacity, rows: DueRow[], services: LeaseServices): Promise<Plan> {
  const { breaker, hostRate } = services.deliveryPolicy;
  const now = rows[0]!.now.getTime();
  const due = rows.map((row): DueSubscription => {
    const { id, organizationId, exempt, first, retries } = row;
    const host = limitedHost(services.egress, row.url);
    return { id, organizationId, exempt, first, retries, host, load: loadOf(row) };
  });
  const plan = planDispatch(due, capacity, now, breaker, Math.random);
  const wishes = wishesOf(plan);
  const wanted = new Map([...wishes].map(([host, of]) => [host, totalOf(of)]));
  const granted = await takeHostRate(sql, wanted, hostRate);
  if ([...wanted].every(([host, count]) => granted.get(host) === count)) return plan;
  const shares = new Map([...wishes].map(([host, of]) => [host, divide(granted.get(host) ?? 0, of)]));
  const within = planDispatch(due, capacity, now, breaker, Math.random, shares);
  return { ...within, waitMs: Math.min(within.waitMs ?? Number.POSITIVE_INFINITY, hostWaitMs(hostRate)) };
}

const findNext = systemStatement({
  name: 'delivery.next_due',
  row: { waitMs: 'float8' },
  text: `select (extract(epoch from next_attempt_at - atelier_now()) * 1000)::float8 as "waitMs" from delivery
    where ${isWaiting} and next_attempt_at > atelier_statement_now()
      and next_attempt_at < atelier_statement_now() + interval '1 second'
    order by next_attempt_at limit 1`,
});

async function nextMs(sql: Sql): Promise<number | undefined> {
  const next = await sql.one(findNext);
  return next && Math.max(1, Math.ceil(next.waitMs));
}

const sooner = (a: number | undefined, b: number | undefined) => (a === undefined ? b : Math.min(a, b ?? a));

async function leaseOn(sql: Sql, capacity: Capacity, services: LeaseServices): Promise<DueAttempts> {
  const spent = capacity.spent ?? [];
  const locked = await sql.rows(lockDue, { maxSubscriptions, spent });
  const laterMs = async () => sooner(spent.length > 0 ? rateWaitMs : undefined, await nextMs(sql));
  if (locked.length === 0) return { leased: [], waitMs: await laterMs() };
  const ordered = locked.filter(({ isOrdered }) => isOrdered).map(({ id }) => id);
  const held = ordered.length === 0 ? 0 : await holdBack(sql, ordered);
  const maxStarts = Math.min(capacity.free, maxOfSubscription);
  const maxAttempts = locked.map(({ organizationId }) =>
    Math.min(maxStarts, capacity.maxStarts?.(organizationId) ?? maxStarts),
  );
  const rows = await sql.rows(findLoads, { lockedIds: locked.map(({ id }) => id), maxAttempts });
  const { grants, waitMs } = await planWithin(sql, capacity, rows, services);
  const leased: Leased[] = [];
  for (const [kind, lease] of leases) {
    const given = grants.filter((grant) => grant[kind] > 0);
    if (given.length === 0) continue;
    const ids = given.map(({ subscription }) => subscription.id);
    leased.push(
      ...(await sql.rows(lease, {
        subscriptionIds: ids,
        attempts: given.map((grant) => grant[kind]),
        leaseMs: services.deliveryPolicy.leaseMs,
      })),
    );
  }
  const changed = grants.flatMap(({ subscription: { id, load }, admitted }) => {
    const to = changeOf(load, admitted);
    return to ? [{ id, to }] : [];
  });
  if (changed.length > 0) {
    const column = (index: 0 | 1) => changed.map(({ to }) => to[index]);
    await sql.rows(admitMany, {
      subscriptionIds: changed.map(({ id }) => id),
      nextProbeAts: column(0),
      rateFreeAts: column(1),
    });
  }
  // Deliveries after the held ones may begin at once.
  const again = held > 0 ? sooner(waitMs, 1) : waitMs;
  return { leased, waitMs: leased.length > 0 ? again : sooner(again, await laterMs()) };
}

/**
 * Leases due attempts of all tenants: first attempts, and retries that are released. Never more of a subscription than its
 * concurrency, rate limit and breaker allow, nor more to a host than its rate. Any number of processes may call this
 * concurrently.
 */
export const leaseDue = (services: LeaseServices, capacity: Capacity): Promise<DueAttempts> =>
  systemTransaction(services.database, (tx) => leaseOn(tx, capacity, services));

const giveBack = statement({
  name: 'delivery.give_back',
  parameters: { deliveryIds: 'uuid[]' },
  text: `update delivery set leased_until = null where organization_id = :organizationId
    and environment = :environment and id = any(:deliveryIds)
     and status in (${openDelivery})`,
});

/** Returns the leases of attempts that were aborted. */
export const returnLeases = (scope: Scope, deliveryIds: readonly string[]): Promise<unknown> =>
  scope.rows(giveBack, { deliveryIds });
