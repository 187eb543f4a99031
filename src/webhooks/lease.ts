import type { Database } from '../platform/database.ts';
import type { Scope } from '../platform/scope.ts';
import { type Sql, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { systemTransaction } from '../platform/unit-of-work.ts';
import { type Admitted, admitAttempts, holdMs, type SubscriptionLoad } from './core/admission.ts';
import { type DeliveryStatus, isOpen, openDelivery } from './core/delivery-status.ts';
import { subscriptionIs } from './core/subscription-state.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';

interface LoadRow extends Tenant {
  id: string;
  concurrency: number;
  inFlight: number;
  rateLimit: number | null;
  rateFreeAt: Date | null;
  consecutiveFailures: number;
  nextProbeAt: Date | null;
  now: Date;
}

const loadColumns = `s.id, s.organization_id as "organizationId", s.environment, s.concurrency, s.rate_limit as "rateLimit",
  s.rate_free_at as "rateFreeAt", s.consecutive_failures as "consecutiveFailures", s.next_probe_at as "nextProbeAt",
  (select count(*)::int from delivery f where f.subscription_id = s.id and f.leased_until > clock_timestamp()) as "inFlight",
  clock_timestamp() as now`;

const subscriptionsAtOnce = 64;
/** Of one subscription at a time, so that others have their turn. */
const mostOfOne = 64;

// What is under way is counted by a statement of its own, once the subscription is locked: it sees what the lock waited for.
// In no order of theirs: where places are few, the first ones get them.
const findLoads = statement<LoadRow & { waiting: number }>(
  'delivery.loads',
  `select ${loadColumns},
          (select count(*)::int from (select from delivery w
             where w.subscription_id = s.id and w.status = 'pending' and w.attempts = 0
               and (w.leased_until is null or w.leased_until < clock_timestamp()) limit ${mostOfOne}) waiting) as waiting
     from webhook_subscription s where s.id = any($1::uuid[]) order by random()`,
);

// Jumps from subscription to subscription along the index of first attempts, however many wait for each.
const lockDue = statement<{ id: string }>(
  'delivery.lock_due',
  `with recursive due as (
     (select subscription_id as id from delivery where status = 'pending' and attempts = 0 order by subscription_id limit 1)
     union all
     select (select d.subscription_id from delivery d
              where d.status = 'pending' and d.attempts = 0 and d.subscription_id > due.id
              order by d.subscription_id limit 1)
       from due where due.id is not null)
   select s.id from webhook_subscription s
    where s.id in (select id from due) and ${subscriptionIs('s', 'active')}
      and (s.next_probe_at is null or s.next_probe_at <= clock_timestamp())
    order by random() limit $1 for update of s skip locked`,
);

const admitMany = statement(
  'delivery.admit_many',
  `update webhook_subscription s set next_probe_at = g.next_probe_at, rate_free_at = g.rate_free_at
     from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as g (id, next_probe_at, rate_free_at)
    where s.id = g.id`,
);

const leaseMany = statement<Leased>(
  'delivery.lease_first',
  `update delivery set leased_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
    where id in (
      select d.id from unnest($1::uuid[], $2::int[]) as g (subscription_id, attempts)
       cross join lateral (
         select id from delivery
          where subscription_id = g.subscription_id and status = 'pending' and attempts = 0
            and (leased_until is null or leased_until < clock_timestamp())
          order by created_at limit g.attempts for update skip locked) d)
   returning id as "deliveryId", organization_id as "organizationId", environment`,
);

/** A delivery whose first attempt the caller has to itself. */
export interface Leased extends Tenant {
  deliveryId: string;
}

export interface FirstAttempts {
  leased: Leased[];
  /** When it is worth asking again although nothing new happens; undefined when nothing is held back. */
  waitMs: number | undefined;
}

const loadOf = ({ consecutiveFailures, nextProbeAt, rateFreeAt, ...row }: LoadRow): SubscriptionLoad => ({
  ...row,
  breaker: { failuresInARow: consecutiveFailures, nextProbeAt: nextProbeAt?.getTime() ?? null },
  rateFreeAt: rateFreeAt?.getTime() ?? null,
});

const timeOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** How many first attempts a process can begin. */
export interface Room {
  /** Of all tenants together. */
  total: number;
  /** Of one organization, so that none takes all of it. */
  of(organizationId: string): number;
}

async function leaseOn(sql: Sql, room: Room, { breaker, leaseMs }: DeliveryPolicy): Promise<FirstAttempts> {
  const locked = await sql.rows(lockDue, [subscriptionsAtOnce]);
  if (locked.length === 0) return { leased: [], waitMs: undefined };
  const rows = await sql.rows(findLoads, [locked.map(({ id }) => id)]);
  const changed: { id: string; admitted: Admitted }[] = [];
  const quotas: { id: string; attempts: number }[] = [];
  let left = room.total;
  const taken = new Map<string, number>();
  let waitMs: number | undefined;
  for (const row of rows) {
    const load = loadOf(row);
    const ofIts = taken.get(row.organizationId) ?? 0;
    const wanted = Math.min(left, room.of(row.organizationId) - ofIts, row.waiting);
    const admitted = admitAttempts(load, wanted, row.now.getTime(), breaker);
    if (admitted.attempts === 0) {
      if (left > 0 && row.waiting > 0) waitMs = Math.min(waitMs ?? admitted.waitMs, admitted.waitMs);
      continue;
    }
    left -= admitted.attempts;
    taken.set(row.organizationId, ofIts + admitted.attempts);
    quotas.push({ id: row.id, attempts: admitted.attempts });
    const { nextProbeAt } = admitted.breaker;
    if (nextProbeAt !== load.breaker.nextProbeAt || admitted.rateFreeAt !== load.rateFreeAt) {
      changed.push({ id: row.id, admitted });
    }
  }
  if (quotas.length === 0) return { leased: [], waitMs };
  const leased = await sql.rows(leaseMany, [quotas.map(({ id }) => id), quotas.map((of) => of.attempts), leaseMs]);
  if (changed.length > 0) {
    await sql.rows(admitMany, [
      changed.map(({ id }) => id),
      changed.map(({ admitted }) => timeOf(admitted.breaker.nextProbeAt)),
      changed.map(({ admitted }) => timeOf(admitted.rateFreeAt)),
    ]);
  }
  return { leased, waitMs };
}

/**
 * Leases first attempts that are due, of all tenants, as far as there is room: no more of a subscription than its
 * concurrency, its rate and its breaker allow. Any number of processes may do this at the same time.
 */
export const leaseFirstAttempts = (database: Database, room: Room, policy: DeliveryPolicy): Promise<FirstAttempts> =>
  systemTransaction(database, (tx) => leaseOn(tx, room, policy));

const giveBack = statement(
  'delivery.give_back',
  `update delivery set leased_until = null where organization_id = $1 and environment = $2 and id = any($3)
     and status in (${openDelivery})`,
);

/** Gives up leases whose attempts were not made to their end. */
export const returnLeases = (scope: Scope, deliveryIds: string[]): Promise<unknown> =>
  scope.rows(giveBack, deliveryIds);

const lockOne = statement(
  'delivery.lock_one',
  `select s.id from delivery d join webhook_subscription s on s.id = d.subscription_id
    where d.organization_id = $1 and d.environment = $2 and d.id = $3 for update of s`,
);

const findLoad = statement<LoadRow & { status: DeliveryStatus; ageMs: number }>(
  'delivery.load',
  `select ${loadColumns}, d.status,
          (extract(epoch from clock_timestamp() - d.created_at) * 1000)::float8 as "ageMs"
     from delivery d join webhook_subscription s on s.id = d.subscription_id
    where d.organization_id = $1 and d.environment = $2 and d.id = $3`,
);

const admitOne = statement(
  'delivery.admit_one',
  `update webhook_subscription set next_probe_at = $4, rate_free_at = $5
    where organization_id = $1 and environment = $2 and id = $3`,
);

const leaseOne = statement(
  'delivery.lease_one',
  `update delivery set leased_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
    where organization_id = $1 and environment = $2 and id = $3 and status in (${openDelivery})`,
);

const hold = statement(
  'delivery.hold',
  `update delivery set leased_until = null, next_attempt_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
    where organization_id = $1 and environment = $2 and id = $3 and status in (${openDelivery})`,
);

/**
 * What a delivery that is due may do.
 * - go: make its attempt, which it has to itself
 * - hold: wait, without having used one up
 * - over: nothing; its status says why
 */
export type Claim = { kind: 'go' } | { kind: 'hold'; waitMs: number } | { kind: 'over'; status: DeliveryStatus };

/** Claims the next attempt of one delivery. Its own lease does not stand in its way: a cut off attempt is made again. */
export function claimAttempt(scope: Scope, deliveryId: string, policy: DeliveryPolicy): Promise<Claim | undefined> {
  return scope.transaction(async (tx): Promise<Claim | undefined> => {
    await tx.rows(lockOne, deliveryId);
    const row = await tx.one(findLoad, deliveryId);
    if (!row) return undefined;
    const { status, now, ageMs } = row;
    if (!isOpen(status)) return { kind: 'over', status };
    const load = loadOf(row);
    const admitted = admitAttempts(load, 1, now.getTime(), policy.breaker);
    if (admitted.attempts === 0) {
      // A receiver that is down has many that wait for it; one that is busy is soon free.
      const waitMs = load.breaker.nextProbeAt === null ? admitted.waitMs : holdMs(admitted.waitMs, ageMs);
      await tx.rows(hold, deliveryId, waitMs);
      return { kind: 'hold', waitMs };
    }
    const { breaker, rateFreeAt } = admitted;
    if (breaker.nextProbeAt !== load.breaker.nextProbeAt || rateFreeAt !== load.rateFreeAt) {
      await tx.rows(admitOne, row.id, timeOf(breaker.nextProbeAt), timeOf(rateFreeAt));
    }
    await tx.rows(leaseOne, deliveryId, policy.leaseMs);
    return { kind: 'go' };
  });
}
