import { planLimits } from './plan-limits.ts';
import type { PlanName } from './plans.ts';
import type { RateLimits } from './rate-windows.ts';

/**
 * The maximum days of retention: after them all data with a plan's retention is removed. PLAN_LIMITS cannot exceed it.
 */
const maxRetentionDays = 36_500;

export const tenancyLimits = planLimits({
  /** Share of the workers when several organizations have queued work: Temporal's fairness weight. */
  fairnessWeight: {
    min: 0.001,
    max: 1_000,
    isFraction: true,
    plans: { free: 1, pro: 5, team: 10, enterprise: 50 },
  },
  /** Every request counts in both windows. Organizations can override these numbers. */
  requestsPerMinute: {
    label: 'requests per minute',
    position: 10,
    min: 1,
    plans: { free: 60, pro: 300, team: 600, enterprise: 6_000 },
  },
  requestsPerDay: {
    label: 'requests per UTC day',
    position: 20,
    min: 1,
    plans: { free: 1_000, pro: 10_000, team: 50_000, enterprise: 1_000_000 },
  },
  eventStreams: {
    label: 'open event streams',
    position: 50,
    window: { name: 'event_streams', text: 'open event streams' },
    plans: { free: 10, pro: 50, team: 200, enterprise: 1_000 },
  },
  /** Synchronous requests that wait for their run. */
  waitingRequests: {
    label: 'waiting synchronous requests',
    position: 60,
    window: { name: 'waiting_requests', text: 'waiting requests' },
    plans: { free: 10, pro: 50, team: 200, enterprise: 1_000 },
  },
  /** How long runs, generations, deliveries and bookings are kept after they have ended. */
  retentionDays: {
    label: 'days for which runs, generations, deliveries and bookings are kept',
    position: 200,
    min: 1,
    max: maxRetentionDays,
    plans: { free: 30, pro: 90, team: 365, enterprise: 3_650 },
  },
  /** Mails to addresses that belong to no member, in a UTC day. Mails about bookings count and are never refused. */
  mailsPerDay: {
    label: 'mails per UTC day to addresses of no members',
    position: 65,
    plans: { free: 100, pro: 1_000, team: 10_000, enterprise: 100_000 },
  },
});

/** The request limits of an organization: its overrides, or those of its plan. */
export const limitsOf = (plan: PlanName, own: { rateMinute: number | null; rateDay: number | null }): RateLimits => ({
  perMinute: own.rateMinute ?? tenancyLimits.requestsPerMinute.of(plan),
  perDay: own.rateDay ?? tenancyLimits.requestsPerDay.of(plan),
});
