import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { unavailable } from '../../platform/errors.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import type { FilterEvaluator, Filtered, FilterOutcome } from '../../webhooks/index.ts';
import { checkExpression, matchFilters } from '../bounded/bounded-tasks.ts';
import type { FilterCandidate } from '../bounded/match-filters.ts';
import { findLengthProblem } from '../core/expression.ts';

async function findProblem(work: BoundedWork, tenantKey: TenantKey, source: string): Promise<string | undefined> {
  if (source.trim() === '') return 'Expected an expression.';
  const tooLong = findLengthProblem(source);
  if (tooLong) return tooLong;
  try {
    const checked = await work.run(checkExpression, tenantKey, { source, kind: 'filter' });
    return 'problem' in checked ? checked.problem : undefined;
  } catch (error) {
    if (error instanceof WorkTooCostly) return `The expression is too costly: ${error.message}`;
    if (error instanceof WorkQueueFull) throw unavailable('Checking filters');
    throw error;
  }
}

async function match(work: BoundedWork, tenantKey: TenantKey, filtered: readonly Filtered[]): Promise<FilterOutcome[]> {
  const events = [...new Set(filtered.map(({ body }) => body))];
  const candidates = filtered.map(({ body, filter }): FilterCandidate => ({ event: events.indexOf(body), filter }));
  try {
    return await work.run(matchFilters, tenantKey, { events, candidates });
  } catch (error) {
    if (!(error instanceof WorkTooCostly)) throw error;
    if (filtered.length === 1) return ['failed'];
  }
  const middle = Math.ceil(filtered.length / 2);
  const outcomes: FilterOutcome[] = [];
  for (const half of [filtered.slice(0, middle), filtered.slice(middle)]) {
    outcomes.push(...(await match(work, tenantKey, half)));
  }
  return outcomes;
}

/** Evaluates the filters of webhooks in processes of the pool. */
export const webhookFilters = (work: BoundedWork): FilterEvaluator => ({
  findProblem: (tenantKey, filter) => findProblem(work, tenantKey, filter),
  match: (tenantKey, filtered) => match(work, tenantKey, filtered),
});
