import type { Database } from '../platform/database.ts';
import type { Scope } from '../platform/scope.ts';
import { type Sql, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { systemTransaction } from '../platform/unit-of-work.ts';
import { admitAttempts, takeTurns } from './core/admission.ts';
import { openDelivery } from './core/delivery-status.ts';
import { subscriptionIs } from './core/subscription-state.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { changeOf, type LoadRow, loadColumns, loadOf } from './subscription-load.ts';

const subscriptionsAtOnce = 64;
/** Attempts of one subscription in one batch at most, so that others have their turn. */
const mostOfOne = 64;

const isFirst = "status = 'pending' and attempts = 0";
const isHeld = `held_since is not null and status in (${openDelivery})`;
const isFree = '(leased_until is null or leased_until < clock_timestamp())';

/** Skips from subscription to subscription along a partial index, however many deliveries wait for each. */
const subscriptionsOf = (condition: string) => `
     (select subscription_id as id from delivery where ${condition} order by subscription_id limit 1)
     union all
     select (select subscription_id from delivery where ${condition} and subscription_id > due.id
              order by subscription_id limit 1)
       from due where due.id is not null`;

// In random order: when the process has few free places, the first subscriptions take them.
const lockDue = statement<{ id: string }>(
  'delivery.lock_due',
  `select s.id from webhook_subscription s
    where s.id in (with recursive due as (${subscriptionsOf(isFirst)}) select id from due
                   union all
                   (with recursive due as (${subscriptionsOf(isHeld)}) select id from due))
      and ${subscriptionIs('s', 'active')}
      and (s.next_probe_at is null or s.next_probe_at <= clock_timestamp())
    order by random() limit $1 for update of s skip locked`,
);

const countOf = (condition: string) =>
  `(select count(*)::int from (select from delivery where subscription_id = s.id and ${condition} and ${isFree} limit ${mostOfOne}) free)`;

const findLoads = statement<LoadRow & { first: number; retries: number }>(
  'delivery.loads',
  `select ${loadColumns}, ${countOf(isFirst)} as first, ${countOf(isHeld)} as retries
     from webhook_subscription s where s.id = any($1::uuid[]) order by random()`,
);

const admitMany = statement(
  'delivery.admit_many',
  `update webhook_subscription s set next_probe_at = g.next_probe_at, rate_free_at = g.rate_free_at
     from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as g (id, next_probe_at, rate_free_at)
    where s.id = g.id`,
);

const leaseStatement = (name: string, condition: string, order: string) =>
  statement<Leased>(
    name,
    `update delivery set leased_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
    where id in (
      select d.id from unnest($1::uuid[], $2::int[]) as g (subscription_id, attempts)
       cross join lateral (
         select id from delivery
          where subscription_id = g.subscription_id and ${condition} and ${isFree}
          order by ${order} limit g.attempts for update skip locked) d)
   returning id as "deliveryId", organization_id as "organizationId", environment`,
  );
const leaseFirst = leaseStatement('delivery.lease_first', isFirst, 'created_at');
const leaseHeld = leaseStatement('delivery.lease_held', isHeld, 'next_attempt_at');

/** A delivery whose next attempt belongs to the caller. */
export interface Leased extends Tenant {
  deliveryId: string;
}

export interface DueAttempts {
  leased: Leased[];
  /** After how long a rate limit or a busy receiver may allow more; undefined when nothing waits for that. */
  waitMs: number | undefined;
}

/** How many attempts a process can begin. */
export interface Room {
  /** Of all tenants together. */
  total: number;
  /** Of one organization, so that none takes all of it. */
  of(organizationId: string): number;
}

async function leaseOn(sql: Sql, room: Room, { breaker, leaseMs }: DeliveryPolicy): Promise<DueAttempts> {
  const locked = await sql.rows(lockDue, [subscriptionsAtOnce]);
  if (locked.length === 0) return { leased: [], waitMs: undefined };
  const rows = await sql.rows(findLoads, [locked.map(({ id }) => id)]);
  const changed: { id: string; to: [Date | null, Date | null] }[] = [];
  const turns: { id: string; first: number; retries: number }[] = [];
  let left = room.total;
  const taken = new Map<string, number>();
  let waitMs: number | undefined;
  for (const row of rows) {
    const load = loadOf(row);
    const waiting = row.first + row.retries;
    const ofIts = taken.get(row.organizationId) ?? 0;
    const wanted = Math.min(left, room.of(row.organizationId) - ofIts, waiting);
    const admitted = admitAttempts(load, wanted, row.now.getTime(), breaker);
    if (admitted.attempts === 0) {
      if (left > 0 && waiting > 0) waitMs = Math.min(waitMs ?? admitted.waitMs, admitted.waitMs);
      continue;
    }
    left -= admitted.attempts;
    taken.set(row.organizationId, ofIts + admitted.attempts);
    turns.push({ id: row.id, ...takeTurns(admitted.attempts, row, Math.random()) });
    const to = changeOf(load, admitted);
    if (to) changed.push({ id: row.id, to });
  }
  const lease = async (of: typeof leaseFirst, count: (turn: (typeof turns)[number]) => number) => {
    const given = turns.filter((turn) => count(turn) > 0);
    return given.length === 0 ? [] : sql.rows(of, [given.map(({ id }) => id), given.map(count), leaseMs]);
  };
  const leased = [...(await lease(leaseFirst, ({ first }) => first)), ...(await lease(leaseHeld, (of) => of.retries))];
  if (changed.length > 0) {
    const column = (index: 0 | 1) => changed.map(({ to }) => to[index]);
    await sql.rows(admitMany, [changed.map(({ id }) => id), column(0), column(1)]);
  }
  return { leased, waitMs };
}

/**
 * Leases due attempts of all tenants: first attempts, and retries that are held. Never more of a subscription than its
 * concurrency, rate limit and breaker allow. Any number of processes may call this concurrently.
 */
export const leaseDue = (database: Database, room: Room, policy: DeliveryPolicy): Promise<DueAttempts> =>
  systemTransaction(database, (tx) => leaseOn(tx, room, policy));

const giveBack = statement(
  'delivery.give_back',
  `update delivery set leased_until = null where organization_id = $1 and environment = $2 and id = any($3)
     and status in (${openDelivery})`,
);

/** Returns the leases of attempts that were aborted. */
export const returnLeases = (scope: Scope, deliveryIds: readonly string[]): Promise<unknown> =>
  scope.rows(giveBack, deliveryIds);
