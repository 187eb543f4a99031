import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { admitAttempts, holdMs } from './core/admission.ts';
import { type DeliveryStatus, isOpen, openDelivery } from './core/delivery-status.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { changeOf, type LoadRow, loadColumns, loadOf } from './subscription-load.ts';

const lockOne = statement(
  'delivery.lock_one',
  `select s.id from delivery d join webhook_subscription s on s.id = d.subscription_id
    where d.organization_id = $1 and d.environment = $2 and d.id = $3 for update of s`,
);

const findLoad = statement<LoadRow & { status: DeliveryStatus; ageMs: number; dueMs: number; isDispatched: boolean }>(
  'delivery.load',
  `select ${loadColumns}, d.status,
          (extract(epoch from clock_timestamp() - d.created_at) * 1000)::float8 as "ageMs",
          (extract(epoch from d.next_attempt_at - clock_timestamp()) * 1000)::float8 as "dueMs",
          d.held_since is not null and d.leased_until > clock_timestamp() as "isDispatched"
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
  `update delivery
      set leased_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000), held_since = null
    where organization_id = $1 and environment = $2 and id = $3 and status in (${openDelivery})`,
);

const putOff = statement(
  'delivery.put_off',
  `update delivery
      set leased_until = null, held_since = null,
          next_attempt_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
    where organization_id = $1 and environment = $2 and id = $3 and status in (${openDelivery})`,
);

const hold = statement(
  'delivery.hold',
  `update delivery set leased_until = null, held_since = coalesce(held_since, clock_timestamp())
    where organization_id = $1 and environment = $2 and id = $3 and status in (${openDelivery})`,
);

/**
 * - leased: the caller makes the attempt
 * - wait: not now; no attempt was used up. `held`: the dispatcher makes it
 * - over: the delivery has ended or is gone
 */
export type RetryLease = { kind: 'leased' } | { kind: 'wait'; ms: number; held: boolean } | { kind: 'over' };

/** Timers may fire this much early. */
const earlyMs = 5;

/**
 * Leases the next attempt of one delivery for its workflow. When the subscription has no free place, the delivery is held:
 * the dispatcher makes the attempt when it is its turn. An earlier lease of the workflow itself is taken over, so that an
 * attempt whose worker died is made again.
 */
export function leaseRetry(scope: Scope, deliveryId: string, policy: DeliveryPolicy): Promise<RetryLease> {
  return scope.transaction(async (tx): Promise<RetryLease> => {
    await tx.rows(lockOne, deliveryId);
    const row = await tx.one(findLoad, deliveryId);
    if (!row || !isOpen(row.status)) return { kind: 'over' };
    const { now, ageMs, dueMs, isDispatched } = row;
    if (isDispatched) return { kind: 'wait', ms: policy.heldLookMs, held: false };
    // The dispatcher has already made the attempt that the workflow asks for.
    if (dueMs > earlyMs) return { kind: 'wait', ms: Math.ceil(dueMs), held: false };
    const load = loadOf(row);
    const admitted = admitAttempts(load, 1, now.getTime(), policy.breaker);
    if (admitted.attempts === 0 && load.breaker.nextProbeAt !== null) {
      const ms = holdMs(admitted.waitMs, ageMs);
      await tx.rows(putOff, deliveryId, ms);
      return { kind: 'wait', ms, held: false };
    }
    if (admitted.attempts === 0) {
      await tx.rows(hold, deliveryId);
      return { kind: 'wait', ms: Math.max(admitted.waitMs, policy.heldLookMs), held: true };
    }
    const change = changeOf(load, admitted);
    if (change) await tx.rows(admitOne, row.id, ...change);
    await tx.rows(leaseOne, deliveryId, policy.leaseMs);
    return { kind: 'leased' };
  });
}
