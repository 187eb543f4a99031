import type { Tenant } from '../platform/tenant.ts';
import type { Admitted, SubscriptionLoad } from './core/admission.ts';

/** What a statement selects as `loadColumns`. */
export interface LoadRow extends Tenant {
  id: string;
  concurrency: number;
  inFlight: number;
  rateLimit: number | null;
  rateFreeAt: Date | null;
  consecutiveFailures: number;
  nextProbeAt: Date | null;
  now: Date;
}

/**
 * Of a subscription `s` that a statement before this one has locked: attempts that began while it waited for the lock are
 * counted too.
 */
export const loadColumns = `s.id, s.organization_id as "organizationId", s.environment, s.concurrency, s.rate_limit as "rateLimit",
  s.rate_free_at as "rateFreeAt", s.consecutive_failures as "consecutiveFailures", s.next_probe_at as "nextProbeAt",
  (select count(*)::int from delivery f where f.subscription_id = s.id and f.leased_until > clock_timestamp()) as "inFlight",
  clock_timestamp() as now`;

export const loadOf = ({ consecutiveFailures, nextProbeAt, rateFreeAt, ...row }: LoadRow): SubscriptionLoad => ({
  ...row,
  breaker: { failuresInARow: consecutiveFailures, nextProbeAt: nextProbeAt?.getTime() ?? null },
  rateFreeAt: rateFreeAt?.getTime() ?? null,
});

const timeOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** What an admission changes of its subscription: next_probe_at and rate_free_at; undefined when nothing. */
export function changeOf(
  load: SubscriptionLoad,
  { breaker, rateFreeAt }: Admitted,
): [Date | null, Date | null] | undefined {
  if (breaker.nextProbeAt === load.breaker.nextProbeAt && rateFreeAt === load.rateFreeAt) return undefined;
  return [timeOf(breaker.nextProbeAt), timeOf(rateFreeAt)];
}
