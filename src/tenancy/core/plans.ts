import type { RateLimits } from './rate-windows.ts';
import type { KeyScope } from './scopes.ts';

/** Operations with a window of their own: text to speech, and speech to text. */
export type LimitedOperation = 'tts' | 'stt';

const operationsPerMinute = { tts: 60, stt: 30 };

/** What a plan includes. Every number holds for each environment of an organization separately. */
export interface Plan {
  /** Share of the workers when several organizations have queued work (Temporal's fairness weight, 0.001 to 1000). */
  fairnessWeight: number;
  /** Every request counts in both windows. Organizations can override these numbers. */
  requestsPerMinute: number;
  requestsPerDay: number;
  /** Requests of certain operations a minute, each of which counts in both windows as well. */
  operationsPerMinute: Readonly<Record<LimitedOperation, number>>;
  /** Runs whose step is calling out at the same time. More wait in order. */
  callingRuns: number;
  /** Messages to models and agents that are under way, each of which holds a place of a worker. More are refused. */
  openMessages: number;
  /** The same of texts that are spoken and recordings that are transcribed. */
  openVoiceCalls: number;
  /** The same of actions of integrations; and those that are to be done later, which hold nothing but a row. */
  openActions: number;
  scheduledActions: number;
  /** Open event streams, and synchronous requests that wait for their run. They are counted separately. */
  eventStreams: number;
  waitingRequests: number;
  /** What may exist. After a downgrade what exists stays, and nothing is added. */
  workflows: number;
  schedules: number;
  /** Of scheduling. The work of finding free times grows with them. */
  hosts: number;
  recurringPatterns: number;
  blackoutPeriods: number;
  /** Scopes that the plan does not include, even if a key has them. */
  withoutFeatures: readonly KeyScope[];
}

export const planNames = ['free', 'pro', 'team', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** The limits of every plan. Code, the reference and the README take them from here. */
export const plans: Record<PlanName, Plan> = {
  free: {
    ...{ fairnessWeight: 1, requestsPerMinute: 60, requestsPerDay: 1_000, operationsPerMinute },
    ...{ callingRuns: 5, openMessages: 5, openVoiceCalls: 5, openActions: 5, scheduledActions: 100 },
    ...{ eventStreams: 10, waitingRequests: 10 },
    ...{ workflows: 50, schedules: 5, hosts: 5, recurringPatterns: 20, blackoutPeriods: 50 },
    withoutFeatures: [],
  },
  pro: {
    ...{ fairnessWeight: 5, requestsPerMinute: 300, requestsPerDay: 10_000, operationsPerMinute },
    ...{ callingRuns: 25, openMessages: 25, openVoiceCalls: 25, openActions: 25, scheduledActions: 500 },
    ...{ eventStreams: 50, waitingRequests: 50 },
    ...{ workflows: 500, schedules: 50, hosts: 50, recurringPatterns: 50, blackoutPeriods: 200 },
    withoutFeatures: [],
  },
  team: {
    ...{ fairnessWeight: 10, requestsPerMinute: 600, requestsPerDay: 50_000, operationsPerMinute },
    ...{ callingRuns: 100, openMessages: 100, openVoiceCalls: 100, openActions: 100, scheduledActions: 2_000 },
    ...{ eventStreams: 200, waitingRequests: 200 },
    ...{ workflows: 5_000, schedules: 500, hosts: 200, recurringPatterns: 100, blackoutPeriods: 500 },
    withoutFeatures: [],
  },
  enterprise: {
    ...{ fairnessWeight: 50, requestsPerMinute: 6_000, requestsPerDay: 1_000_000, operationsPerMinute },
    ...{ callingRuns: 200, openMessages: 200, openVoiceCalls: 200, openActions: 200, scheduledActions: 10_000 },
    ...{ eventStreams: 1_000, waitingRequests: 1_000 },
    ...{ workflows: 50_000, schedules: 5_000, hosts: 500, recurringPatterns: 200, blackoutPeriods: 1_000 },
    withoutFeatures: [],
  },
};

/** The request limits of an organization: its overrides, or those of its plan. */
export function limitsOf(plan: PlanName, own: { rateMinute: number | null; rateDay: number | null }): RateLimits {
  const { requestsPerMinute, requestsPerDay } = plans[plan];
  return { perMinute: own.rateMinute ?? requestsPerMinute, perDay: own.rateDay ?? requestsPerDay };
}

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);
