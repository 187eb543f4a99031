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
  /** Webhooks of all kinds. An event has a delivery for each that listens. */
  webhooks: number;
  /** Deliveries whose attempts are still to come. Above that an event is recorded and not delivered. */
  waitingDeliveries: number;
  /** Of scheduling. The work of finding free times grows with them. */
  hosts: number;
  recurringPatterns: number;
  blackoutPeriods: number;
  eventTypes: number;
  /** How long runs and generations are kept after they have ended. */
  retentionDays: number;
  /** Bytes of files, and of the inputs and outputs of runs, that are kept. */
  storageBytes: number;
  /** Mails to addresses that belong to no member, in a UTC day. Mails about bookings count and are never refused. */
  mailsPerDay: number;
  /** Credits that are granted each UTC month to live keys. */
  monthlyCredits: number;
  /** Scopes that the plan does not include, even if a key has them. */
  withoutFeatures: readonly KeyScope[];
}

export const planNames = ['free', 'pro', 'team', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** The days of retention by which everything that is kept for a plan's time is gone: PLAN_LIMITS cannot exceed it. */
export const maxRetentionDays = 36_500;

const gib = 1024 ** 3;

/** The limits of every plan. Code, the reference and the guides take them from here. `PLAN_LIMITS` changes them at the start. */
export const plans: Record<PlanName, Plan> = {
  free: {
    fairnessWeight: 1,
    requestsPerMinute: 60,
    requestsPerDay: 1_000,
    operationsPerMinute,
    callingRuns: 5,
    openMessages: 5,
    openVoiceCalls: 5,
    openActions: 5,
    scheduledActions: 100,
    eventStreams: 10,
    waitingRequests: 10,
    workflows: 50,
    schedules: 5,
    hosts: 5,
    recurringPatterns: 20,
    blackoutPeriods: 50,
    eventTypes: 50,
    retentionDays: 30,
    storageBytes: 2 * gib,
    mailsPerDay: 100,
    monthlyCredits: 100,
    webhooks: 20,
    waitingDeliveries: 50_000,
    withoutFeatures: [],
  },
  pro: {
    fairnessWeight: 5,
    requestsPerMinute: 300,
    requestsPerDay: 10_000,
    operationsPerMinute,
    callingRuns: 25,
    openMessages: 25,
    openVoiceCalls: 25,
    openActions: 25,
    scheduledActions: 500,
    eventStreams: 50,
    waitingRequests: 50,
    workflows: 500,
    schedules: 50,
    hosts: 50,
    recurringPatterns: 50,
    blackoutPeriods: 200,
    eventTypes: 500,
    retentionDays: 90,
    storageBytes: 50 * gib,
    mailsPerDay: 1_000,
    monthlyCredits: 1_000,
    webhooks: 100,
    waitingDeliveries: 500_000,
    withoutFeatures: [],
  },
  team: {
    fairnessWeight: 10,
    requestsPerMinute: 600,
    requestsPerDay: 50_000,
    operationsPerMinute,
    callingRuns: 100,
    openMessages: 100,
    openVoiceCalls: 100,
    openActions: 100,
    scheduledActions: 2_000,
    eventStreams: 200,
    waitingRequests: 200,
    workflows: 5_000,
    schedules: 500,
    hosts: 200,
    recurringPatterns: 100,
    blackoutPeriods: 500,
    eventTypes: 500,
    retentionDays: 365,
    storageBytes: 500 * gib,
    mailsPerDay: 10_000,
    monthlyCredits: 5_000,
    webhooks: 500,
    waitingDeliveries: 5_000_000,
    withoutFeatures: [],
  },
  enterprise: {
    fairnessWeight: 50,
    requestsPerMinute: 6_000,
    requestsPerDay: 1_000_000,
    operationsPerMinute,
    callingRuns: 200,
    openMessages: 200,
    openVoiceCalls: 200,
    openActions: 200,
    scheduledActions: 10_000,
    eventStreams: 1_000,
    waitingRequests: 1_000,
    workflows: 50_000,
    schedules: 5_000,
    hosts: 500,
    recurringPatterns: 200,
    blackoutPeriods: 1_000,
    eventTypes: 500,
    retentionDays: 3_650,
    storageBytes: 5 * 1024 * gib,
    mailsPerDay: 100_000,
    monthlyCredits: 10_000,
    webhooks: 5_000,
    waitingDeliveries: 50_000_000,
    withoutFeatures: [],
  },
};

/** The request limits of an organization: its overrides, or those of its plan. */
export function limitsOf(plan: PlanName, own: { rateMinute: number | null; rateDay: number | null }): RateLimits {
  const { requestsPerMinute, requestsPerDay } = plans[plan];
  return { perMinute: own.rateMinute ?? requestsPerMinute, perDay: own.rateDay ?? requestsPerDay };
}

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);

type PlanNumbers = { [Name in keyof Plan as Plan[Name] extends number ? Name : never]: Plan[Name] };

/** Numbers that replace those of a plan. */
export type PlanOverride = Partial<PlanNumbers> & { operationsPerMinute?: Partial<Plan['operationsPerMinute']> };

/** The names of the numbers of a plan. */
export type PlanNumber = keyof PlanNumbers;

export type PlanOverrides = Partial<Record<PlanName, PlanOverride>>;

/** Replaces numbers of plans. To be called once, before anything reads them. */
export function overridePlans(overrides: PlanOverrides): void {
  for (const name of planNames) {
    const { operationsPerMinute: operations, ...numbers } = overrides[name] ?? {};
    Object.assign(plans[name], numbers);
    plans[name].operationsPerMinute = Object.assign({}, plans[name].operationsPerMinute, operations);
  }
}

/** A number of every plan as JSON, for statements that find the plan themselves. */
export const numbersByPlan = (number: PlanNumber): string =>
  JSON.stringify(Object.fromEntries(planNames.map((name) => [name, plans[name][number]])));
