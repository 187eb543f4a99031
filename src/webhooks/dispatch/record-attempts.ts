import { clock } from '../../platform/clock.ts';
import type { CountedUse } from '../../platform/database/counted-use.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { afterAttempt, type Breaker, closedBreaker } from '../core/breaker.ts';
import { type DeliveryStatus, openDelivery } from '../core/delivery-status.ts';
import { afterFailure, type Failing, hasFailedTooLong, notFailing } from '../core/failing.ts';
import { judge, unreadable, type Verdict } from '../core/retry-schedule.ts';
import { latencyPlace, statusClassOf } from '../core/statistics.ts';
import { beginRetries, wakeRetries } from '../retries/retry-release.ts';
import { disableSubscription } from '../subscriptions/disable-subscription.ts';
import type { AttemptOutcome } from './attempt.ts';
import { type AttemptFacts, countAttemptsSql } from './attempt-counts.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { releaseNext, type Subject } from './subject-order.ts';

/** The state of a delivery after its attempt. */
export interface Recorded {
  deliveryId: string;
  status: DeliveryStatus;
}

interface RecordedRow extends Recorded {
  /** Whether the latest attempts of its subscription that were recorded before have failed. */
  hasFailed: boolean;
}

const kind = 'webhook';

/** What deliveries add to counters at their end. */
const endedDeliveries: Partial<Record<DeliveryStatus, readonly CountedUse[]>> = {
  delivered: [{ by: 'kind', value: kind, deliveries: 1 }],
  dead_lettered: [{ by: 'kind', value: kind, failedDeliveries: 1 }],
};

// A delivery whose subscription was turned off during the attempt becomes delivered if the attempt succeeded. A
// delivery that has ended otherwise stays unchanged. A failure counts only if no other attempt was recorded since it
// began: it may have been recorded by a commit whose answer was lost, or its lease may have expired. The ids are given
// twice: PostgreSQL expects few ids of a list and looks them up, but expects so many of a JSON value that it would read
// every delivery.
const recordStatement = statement({
  name: 'delivery.record',
  parameters: { rows: 'jsonb', ids: 'uuid[]' },
  row: { deliveryId: 'uuid', status: typed<DeliveryStatus>('text'), hasFailed: 'boolean' },
  counts: ({ status }) => endedDeliveries[status] ?? [],
  text: `with given as (
     select * from jsonb_to_recordset(:rows) as g (id uuid, attempts int, status text, delay_ms float8,
       started_at timestamptz,
       duration_ms int, status_code int, response_body text, response_body_truncated boolean, error_class text,
       status_class text, latency int)),
   moved as (
     update delivery d
        set status = g.status, attempts = d.attempts + 1, schedule_attempts = d.schedule_attempts + 1,
            leased_until = null, ignores_breaker = false,
            parked_at = case when g.status = 'dead_lettered' then null else d.parked_at end,
            next_attempt_at = case when g.status = 'retrying' then atelier_now() + make_interval(secs => g.delay_ms / 1000) end,
            finished_at = case when g.status <> 'retrying' then atelier_now() end,
            status_code = g.status_code, duration_ms = g.duration_ms,
            response_body = case when d.content_expunged_at is null then g.response_body end,
            response_body_truncated = d.content_expunged_at is null and g.response_body_truncated, error_class = g.error_class
       from given g
      where d.organization_id = :organizationId and d.environment = :environment and d.id = any(:ids) and d.id = g.id
        and (g.status = 'delivered' or d.attempts = g.attempts)
        and (d.status in (${openDelivery})
             or d.status = 'dead_lettered' and d.leased_until is not null and g.status = 'delivered')
     returning d.id, d.subscription_id, d.organization_id, d.environment, d.status, d.attempts, d.response_body,
               d.response_body_truncated, g.status_class, g.latency),
   ${countAttemptsSql('moved')},
   logged as (
     insert into delivery_attempt (delivery_id, number, organization_id, environment, started_at, duration_ms,
                                   status_code, response_body, response_body_truncated, error_class)
     select m.id, m.attempts, :organizationId, :environment, g.started_at, g.duration_ms, g.status_code,
            m.response_body, m.response_body_truncated, g.error_class
       from moved m join given g on g.id = m.id)
   select id as "deliveryId", status,
          exists (select from webhook_subscription s
                   where s.id = moved.subscription_id and s.last_failed_at is not null) as "hasFailed"
     from moved`,
});

interface StateRow {
  consecutiveFailures: number;
  nextProbeAt: Date | null;
  failingSince: Date | null;
  lastFailedAt: Date | null;
}

// Not for their keys: transactions that write deliveries share a lock on those, of many subscriptions in no order.
const lockState = statement({
  name: 'subscription.lock_state',
  parameters: { id: 'uuid' },
  row: {
    consecutiveFailures: 'int',
    nextProbeAt: 'timestamptz?',
    failingSince: 'timestamptz?',
    lastFailedAt: 'timestamptz?',
  },
  text: `select consecutive_failures as "consecutiveFailures", next_probe_at as "nextProbeAt",
          failing_since as "failingSince", last_failed_at as "lastFailedAt"
     from webhook_subscription where organization_id = :organizationId and environment = :environment and id = :id
       for no key update`,
});

const saveState = statement({
  name: 'subscription.save_state',
  parameters: {
    id: 'uuid',
    consecutiveFailures: 'int',
    nextProbeAt: 'timestamptz?',
    failingSince: 'timestamptz?',
    lastFailedAt: 'timestamptz?',
    lastFailure: 'text?',
  },
  text: `update webhook_subscription
      set consecutive_failures = :consecutiveFailures, next_probe_at = :nextProbeAt, failing_since = :failingSince,
        last_failed_at = :lastFailedAt,
          last_failure = coalesce(:lastFailure, last_failure)
    where organization_id = :organizationId and environment = :environment and id = :id`,
});

/** A subscription whose row is locked, and its recorded attempts. */
interface Locked {
  row: StateRow | undefined;
  id: string;
  judged: Judged[];
}

const byId = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

interface Judged {
  outcome: AttemptOutcome;
  verdict: Verdict;
}

function countedAs({ work, result, durationMs }: AttemptOutcome): AttemptFacts {
  if (work.isTest) return { status_class: null, latency: null };
  const statusClass = statusClassOf(result.errorClass === undefined ? result.status : null);
  return { status_class: statusClass, latency: statusClass === 'error' ? null : latencyPlace(durationMs) };
}

function rowOf({ outcome, verdict }: Judged) {
  const { work, result, startedAt, durationMs, responseBody, responseBodyTruncated } = outcome;
  return {
    id: work.deliveryId,
    attempts: work.attempts,
    status: verdict.status,
    delay_ms: verdict.status === 'retrying' ? verdict.delayMs : null,
    started_at: startedAt,
    duration_ms: durationMs,
    status_code: result.errorClass === undefined ? result.status : null,
    response_body: responseBody,
    response_body_truncated: responseBodyTruncated,
    error_class: result.errorClass ?? null,
    ...countedAs(outcome),
  };
}

const ms = (time: Date | null): number | null => time?.getTime() ?? null;
const time = (of: number | null): Date | null => (of === null ? null : new Date(of));

/** A failure changes its subscription, and so does a success after failures. */
const changesSubscription = ({ outcome, verdict }: Judged): boolean =>
  verdict.status !== 'delivered' || outcome.work.hasFailed || outcome.work.subject !== null;

/** What deliveries about the same subject wait for. */
const subjectsOf = ({ judged }: Locked): Subject[] =>
  judged.flatMap(({ outcome: { work } }) =>
    work.subject === null ? [] : [{ subscriptionId: work.subscriptionId, subject: work.subject }],
  );

/** What operators see of a failure. */
const failureOf = ({ outcome: { result } }: Judged): string => result.errorClass ?? `HTTP ${result.status}`;

/**
 * Counts the attempts of one subscription, in the order in which they ended, and turns it off if necessary.
 * @returns whether its breaker opened or closed; undefined if neither
 */
async function saveFailures(
  tx: Scope,
  id: string,
  row: StateRow,
  judged: Judged[],
  policy: DeliveryPolicy,
): Promise<'opened' | 'closed' | undefined> {
  const now = clock.now();
  let breaker: Breaker = { failuresInARow: row.consecutiveFailures, nextProbeAt: ms(row.nextProbeAt) };
  let failing: Failing = { since: ms(row.failingSince), lastAt: ms(row.lastFailedAt) };
  for (const { verdict, outcome } of judged) {
    // No request was sent, which says nothing about the receiver.
    if (outcome.result.errorClass === unreadable) continue;
    const delivered = verdict.status === 'delivered';
    breaker = delivered ? closedBreaker : afterAttempt(breaker, false, now, policy.breaker);
    failing = delivered ? notFailing : afterFailure(failing, now, policy.failingLimitMs);
  }
  const failed = judged.findLast(({ verdict }) => verdict.status !== 'delivered');
  await tx.rows(saveState, {
    id,
    consecutiveFailures: breaker.failuresInARow,
    nextProbeAt: time(breaker.nextProbeAt),
    failingSince: time(failing.since),
    lastFailedAt: time(failing.lastAt),
    lastFailure: failed ? failureOf(failed) : null,
  });
  const isGone = judged.some(({ verdict }) => verdict.status === 'dead_lettered' && verdict.disable);
  const isExhausted = judged.some(({ verdict }) => verdict.status === 'dead_lettered');
  if (isGone) await disableSubscription(tx, id, 'gone');
  else if (isExhausted && hasFailedTooLong(failing, now, policy.failingLimitMs))
    await disableSubscription(tx, id, 'failing');
  if ((breaker.nextProbeAt === null) === (row.nextProbeAt === null)) return undefined;
  return breaker.nextProbeAt === null ? 'closed' : 'opened';
}

/** Counts attempts of several subscriptions, which are locked. @returns the breakers that opened or closed */
async function saveAll(tx: Scope, states: Locked[], policy: DeliveryPolicy): Promise<Map<string, 'opened' | 'closed'>> {
  const changed = new Map<string, 'opened' | 'closed'>();
  for (const { row, id, judged } of states) {
    const change = row && (await saveFailures(tx, id, row, judged, policy));
    if (change) changed.set(id, change);
  }
  return changed;
}

async function wakeChanged(tx: Scope, changed: Map<string, 'opened' | 'closed'>, policy: DeliveryPolicy) {
  // Subscriptions whose workflows show an outdated breaker. A workflow that has only just begun looks again soon in any
  // case.
  for (const [id, change] of changed) await wakeRetries(tx, id, change === 'opened' ? policy.clock.settleMs : 0);
}

/**
 * Counts successes whose attempts began while the latest attempt had succeeded: others failed while they were under way, and
 * ten failures in a row are ten without a success in between.
 */
const countSuccesses = (scope: Scope, bySubscription: [string, Judged[]][], policy: DeliveryPolicy): Promise<void> =>
  scope.transaction(async (tx) => {
    const states: Locked[] = [];
    for (const [id, judged] of bySubscription.sort(byId)) {
      states.push({ row: await tx.one(lockState, { id }), id, judged });
    }
    await wakeChanged(tx, await saveAll(tx, states, policy), policy);
  });

/**
 * Records attempts of one tenant and their consequences: states, retries, breakers, and subscriptions to turn off. One
 * statement if all succeeded, otherwise one transaction.
 * @param isRepeated after a call that failed: it may have recorded attempts, and not counted their successes
 * @returns the new states, without deliveries that had ended before
 */
export async function recordAttempts(
  scope: Scope,
  outcomes: AttemptOutcome[],
  policy: DeliveryPolicy,
  isRepeated = false,
): Promise<Recorded[]> {
  const judged = outcomes.map((outcome): Judged => {
    const { work, result } = outcome;
    const attempt = work.scheduleAttempts + 1;
    const facts = { attempt, maxAttempts: work.maxAttempts, chance: Math.random(), policy: policy.retry };
    return { outcome, verdict: judge(result, facts) };
  });
  const bySubscription = Map.groupBy(judged, ({ outcome }) => outcome.work.subscriptionId);
  const changing = [...bySubscription].filter(([, of]) => isRepeated || of.some(changesSubscription));
  const ids = outcomes.map(({ work }) => work.deliveryId);
  const record = (on: Scope) => on.rows(recordStatement, { rows: JSON.stringify(judged.map(rowOf)), ids });
  const unaware = bySubscription.size - changing.length;
  const rows = changing.length === 0 ? await record(scope) : await scope.transaction(recordChanging);
  const failing = new Set(rows.filter(({ hasFailed }) => hasFailed).map(({ deliveryId }) => deliveryId));
  if (unaware === 0 || failing.size === 0) return rows;
  const known = new Set(changing.map(([id]) => id));
  const late = [...bySubscription]
    .filter(([id]) => !known.has(id))
    .map(([id, of]): [string, Judged[]] => [id, of.filter(({ outcome }) => failing.has(outcome.work.deliveryId))])
    .filter(([, of]) => of.length > 0);
  if (late.length > 0) await countSuccesses(scope, late, policy);
  return rows;

  async function recordChanging(tx: Transaction): Promise<RecordedRow[]> {
    // Subscriptions are locked before deliveries and in the order of their ids, to avoid deadlocks.
    const states: Locked[] = [];
    for (const [id, of] of changing.sort(byId)) states.push({ row: await tx.one(lockState, { id }), id, judged: of });
    const recorded = await record(tx);
    const statusOf = new Map(recorded.map(({ deliveryId, status }) => [deliveryId, status]));
    // A success may be counted twice: it says the same of the receiver.
    const isCounted = ({ outcome, verdict }: Judged) =>
      statusOf.has(outcome.work.deliveryId) || (isRepeated && verdict.status === 'delivered');
    const once = states.map(({ row, id, judged }) => ({ row, id, judged: judged.filter(isCounted) }));
    const isRetried = ({ judged }: Locked) =>
      judged.some(({ outcome }) => statusOf.get(outcome.work.deliveryId) === 'retrying');
    const changed = await saveAll(tx, once, policy);
    const released = await releaseNext(tx, once.flatMap(subjectsOf));
    const retried = [...new Set([...once.filter(isRetried).map(({ id }) => id), ...released])];
    await beginRetries(tx, retried, policy.clock.aheadMs);
    await wakeChanged(tx, changed, policy);
    return recorded;
  }
}
