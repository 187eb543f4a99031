import { invalid } from '../../platform/errors.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';

/** A body of an event, and a filter that looks at it. */
export interface Filtered {
  body: object;
  filter: string;
}

/** Whether the event goes to the webhook; `failed` where that cannot be decided. */
export type FilterOutcome = 'matches' | 'differs' | 'failed';

/** What knows expressions. Its work has a limit of time and of memory, and is done outside the event loop. */
export interface FilterEvaluator {
  /** @returns what is wrong with a filter, as a sentence; undefined when nothing is @throws AppError service_unavailable */
  findProblem(tenantKey: TenantKey, filter: string): Promise<string | undefined>;
  /**
   * Evaluates filters. A costly one fails by itself, and makes no other fail.
   * @throws WorkQueueFull while too much of the organization's is being evaluated
   */
  match(tenantKey: TenantKey, filtered: readonly Filtered[]): Promise<FilterOutcome[]>;
}

/** The filters of webhooks. The feature that knows expressions gives the evaluator when it is opened. */
export class EventFilters implements FilterEvaluator {
  #evaluator: FilterEvaluator | undefined;

  evaluateWith(evaluator: FilterEvaluator): void {
    this.#evaluator = evaluator;
  }

  get #given(): FilterEvaluator {
    if (!this.#evaluator) throw new Error('Nothing evaluates filters.');
    return this.#evaluator;
  }

  findProblem(tenantKey: TenantKey, filter: string): Promise<string | undefined> {
    return this.#given.findProblem(tenantKey, filter);
  }

  async match(tenantKey: TenantKey, filtered: readonly Filtered[]): Promise<FilterOutcome[]> {
    return filtered.length === 0 ? [] : this.#given.match(tenantKey, filtered);
  }

  /**
   * Checks the filter of a webhook, which is saved only when it can be evaluated.
   * @throws AppError validation_error at `filter`, service_unavailable
   */
  async check(tenantKey: TenantKey, filter: string): Promise<void> {
    const message = await this.findProblem(tenantKey, filter);
    if (message !== undefined) throw invalid([{ path: 'filter', message }]);
  }
}
