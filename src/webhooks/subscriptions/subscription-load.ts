import { type RowWith, typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { Admitted, SubscriptionLoad } from '../core/admission.ts';

/**
 * The load of a subscription `s`. An earlier statement of the transaction must have locked it, so that attempts that
 * began before the lock are counted.
 */
export const loadColumns = `s.id, s.organization_id as "organizationId", s.environment, s.concurrency, s.rate_limit as "rateLimit",
  s.rate_free_at as "rateFreeAt", s.consecutive_failures as "consecutiveFailures", s.next_probe_at as "nextProbeAt",
  (select count(*)::int from delivery f where f.subscription_id = s.id and f.leased_until > atelier_now()) as "inFlight",
  (select p.paused_at from retry_release p where p.subscription_id = s.id) is not null as "isPaused",
  atelier_now() as now`;

/** The types of `loadColumns`. */
export const loadRow = {
  id: 'uuid',
  organizationId: 'uuid',
  environment: typed<Environment>('text'),
  concurrency: 'int',
  rateLimit: 'int?',
  rateFreeAt: 'timestamptz?',
  consecutiveFailures: 'int',
  nextProbeAt: 'timestamptz?',
  inFlight: 'int',
  isPaused: 'boolean',
  now: 'timestamptz',
} as const;

export type LoadRow = RowWith<typeof loadRow>;

export const loadOf = ({ consecutiveFailures, nextProbeAt, rateFreeAt, ...row }: LoadRow): SubscriptionLoad => ({
  ...row,
  breaker: { failuresInARow: consecutiveFailures, nextProbeAt: nextProbeAt?.getTime() ?? null },
  rateFreeAt: rateFreeAt?.getTime() ?? null,
});

const timeOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** The new `next_probe_at` and `rate_free_at` of a subscription after an admission; undefined when both stay. */
export function changeOf(
  load: SubscriptionLoad,
  { breaker, rateFreeAt }: Admitted,
): [Date | null, Date | null] | undefined {
  if (breaker.nextProbeAt === load.breaker.nextProbeAt && rateFreeAt === load.rateFreeAt) return undefined;
  return [timeOf(breaker.nextProbeAt), timeOf(rateFreeAt)];
}
