import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { findRateLimits, type RateLimiter, subjectOf } from '../../tenancy/index.ts';

export interface DayServices {
  database: Database;
  limiter: RateLimiter;
}

/**
 * Counts runs in the day's window of their organization, which counts requests too. What no request starts counts so: runs of
 * schedules, events, batches, bulk actions and other runs.
 * @returns false when the day has too few left; nothing is counted then
 */
export async function takeRunsOfDay({ database, limiter }: DayServices, scope: Scope, runs = 1): Promise<boolean> {
  const { perDay } = await findRateLimits(database, scope.tenant.organizationId);
  return limiter.takeOfDay(subjectOf(scope.tenant), perDay, runs);
}

/**
 * Counts one run when it is called. The limit is read before, so that a transaction that counts needs no second connection.
 * @returns what throws AppError rate_limit_exceeded if the day has no run left: its starter must give up
 */
export async function runOfDay({ database, limiter }: DayServices, scope: Scope): Promise<() => Promise<void>> {
  const { perDay } = await findRateLimits(database, scope.tenant.organizationId);
  return async () => {
    if (await limiter.takeOfDay(subjectOf(scope.tenant), perDay)) return;
    throw new AppError('rate_limit_exceeded', 'The day has no run left.');
  };
}

/** Counts one run now. @throws AppError rate_limit_exceeded */
export async function takeRunOfDay(services: DayServices, scope: Scope): Promise<void> {
  const take = await runOfDay(services, scope);
  await take();
}
