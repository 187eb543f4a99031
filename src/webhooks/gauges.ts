import { memoize } from '../platform/concurrency/memoize.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';
import { isFirst } from './dispatch/ready.ts';
import { isHeld } from './dispatch/subject-order.ts';
import { isWaiting } from './retries/retry-release.ts';

const cachedMs = 5_000;

// Reads the indexes of first attempts, retries and dead letters, at most 10,000 rows of each.
const openDeliveries = systemStatement({
  name: 'gauges.open_deliveries',
  row: { status: 'text', count: 'int', oldestSeconds: 'float8' },
  text: `select wanted.wait as status, count(since)::int as count, coalesce(extract(epoch
    from atelier_now() - min(since)), 0)::float8 as "oldestSeconds"
     from (values ('first'), ('retry'), ('dead_lettered')) as wanted (wait)
     left join lateral (
       (select created_at as since from delivery where wanted.wait = 'first' and ${isFirst}
         limit 10000)
       union all
       (select created_at from delivery
         where wanted.wait = 'retry' and ${isWaiting} limit 10000)
       union all
       (select created_at from delivery where wanted.wait = 'retry' and ${isHeld} limit 10000)
       union all
       (select finished_at from delivery where wanted.wait = 'dead_lettered' and status = 'dead_lettered' limit 10000)
     ) as open on true
    group by wanted.wait`,
});

const maxCountedReleases = 1_000;

// One entry of an index for each webhook with retries that wait.
const failingWebhooks = systemStatement({
  name: 'gauges.failing_webhooks',
  row: { state: 'text', count: 'int', lateSeconds: 'float8' },
  text: `select wanted.state, count(failing.state)::int as count, coalesce(max(failing.late),
    0)::float8 as "lateSeconds"
     from (values ('retrying'), ('open'), ('paused')) as wanted (state)
     left join (
       select case when c.paused_at is not null then 'paused' when s.next_probe_at is not null then 'open'
         else 'retrying' end
                as state, extract(epoch from atelier_now() - due.at) as late
         from (select subscription_id, paused_at from retry_release limit ${maxCountedReleases}) c
         join webhook_subscription s on s.id = c.subscription_id
         left join lateral (
           select next_attempt_at as at from delivery
            where subscription_id = c.subscription_id and ${isWaiting}
              and next_attempt_at < atelier_statement_now() and (leased_until is null or leased_until < atelier_now())
            order by next_attempt_at limit 1) due on true) failing on failing.state = wanted.state
    group by wanted.state`,
});

const parkedDeadLetters = systemStatement({
  name: 'gauges.parked_letters',
  row: { count: 'int' },
  text: `select count(*) filter (where parked_at > '-infinity')::int as count
     from (select parked_at from delivery where status = 'dead_lettered' limit 10000) letter`,
});

/** Deliveries that wait: for their first attempt, for a retry, or for a replay; and webhooks that fail. */
export function deliveryGauges(observer: Probe): GaugeOptions[] {
  const read = memoize(cachedMs, () => observer.rows(openDeliveries, gaugeTimeoutMs));
  const readFailing = memoize(cachedMs, () => observer.rows(failingWebhooks, gaugeTimeoutMs));
  const readParked = memoize(cachedMs, () => observer.rows(parkedDeadLetters, gaugeTimeoutMs));
  return [
    {
      name: 'atelier_deliveries_open',
      help: 'Webhook deliveries that wait for their first attempt, for a retry, or for a replay; counted up to 10000.',
      installationWide: true,
      labelNames: ['status'],
      read: async () => (await read()).map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: 'atelier_deliveries_open_oldest_seconds',
      help: 'Age of the oldest waiting delivery; 0 when there is none.',
      installationWide: true,
      labelNames: ['status'],
      read: async () =>
        (await read()).map(({ status, oldestSeconds }) => ({ labels: { status }, value: oldestSeconds })),
    },
    {
      name: 'atelier_webhooks_failing',
      help: `Webhooks with retries that wait, by what they wait for; counted up to ${maxCountedReleases}.`,
      installationWide: true,
      labelNames: ['state'],
      read: async () => (await readFailing()).map(({ state, count }) => ({ labels: { state }, value: count })),
    },
    {
      name: 'atelier_retries_late_seconds',
      help: 'How long the oldest due retry has waited, of webhooks whose breaker is closed; 0 when none is due.',
      installationWide: true,
      read: async () => {
        const retrying = (await readFailing()).find(({ state }) => state === 'retrying');
        return retrying ? [{ value: retrying.lateSeconds }] : [];
      },
    },
    {
      name: 'atelier_dead_letters_parked',
      help: 'Dead letters that have a workflow of their own; counted among 10000 dead letters.',
      installationWide: true,
      read: async () => (await readParked()).map(({ count }) => ({ value: count })),
    },
  ];
}
