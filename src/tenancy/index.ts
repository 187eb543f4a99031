// What other parts use of tenancy: fairness, limits, usage and organizations.

export { isDeleted, isKept } from './deleted-organizations.ts';
export type { LimitLookUp } from './failed-authentications.ts';
export { countMail } from './mails.ts';
export { enterAll, MemoryOpenCounter, type OpenCounter } from './open-counter.ts';
export type { SessionInUse } from './open-sessions.ts';
export { createOrganizationIn, findOrganization, restorableDays } from './organizations.ts';
export type { TenancyServices } from './part.ts';
export { enforceLimit, planRefusal } from './plans/enforce-limit.ts';
export { fairnessOf } from './plans/fairness.ts';
export { findPlan } from './plans/find-plan.ts';
export { findRateLimits } from './plans/find-rate-limits.ts';
export { removalByPlan, removalOfFewByPlan } from './plans/retention.ts';
export { type RateLimiter, subjectOf } from './rate-limiter.ts';
export { keyOfActor } from './usage/key-of-actor.ts';
export { countRuns, countTokens } from './usage/usage-months.ts';
export type { CountedWindow, WindowCounter } from './windows/window-counter.ts';
