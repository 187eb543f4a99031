import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { dottedPath } from '../core/step-path.ts';
import { type ActiveRunLimiter, slotsByPlan, slotsOf, type WaitingStep } from '../runs/active-run-limiter.ts';
import { maxShownWaits } from '../runs/runs.ts';
import type { CallingLeaf } from './instant-steps.ts';

// The row of totals decides, as for claims. While no run waits, a flow gets as many slots as it requests and the plan
// has free; otherwise it keeps those of the steps that call out now.
const changeExtra = statement({
  name: 'calling_run.change_extra',
  parameters: { runId: 'uuid', used: 'int', wanted: 'int', slotsByPlan: 'jsonb' },
  row: { extra: 'int', waiting: 'int' },
  text: `with mine as (
     select extra from calling_run
      where organization_id = :organizationId and environment = :environment and run_id = :runId and leased_until is not null for update),
   total as (
     update calling_total t
        set held = t.held - mine.extra
          + case when t.waiting > 0 then least(mine.extra, greatest(:used - 1, 0))
                 else least(greatest(:wanted - 1, 0), mine.extra + greatest(${slotsOf(':organizationId', ':slotsByPlan')} - t.held, 0)) end
       from mine where t.organization_id = :organizationId and t.environment = :environment
     returning t.held - old.held as change, t.waiting)
   update calling_run c set extra = c.extra + total.change from total
    where c.organization_id = :organizationId and c.environment = :environment and c.run_id = :runId
   returning c.extra, total.waiting`,
});

// A step that already waits keeps its time: a run that asks again has waited since it asked first.
const setWaiting = statement({
  name: 'calling_run.set_steps',
  parameters: { runId: 'uuid', steps: 'json' },
  text: `update calling_run set steps = :steps
    where organization_id = :organizationId and environment = :environment and run_id = :runId and leased_until is null`,
});

const toWaitingSteps = (ready: readonly CallingLeaf[]): WaitingStep[] =>
  ready.slice(0, maxShownWaits).map(({ path, step }) => ({ stepId: step.id, path: dottedPath(path) }));

/** The slots that one flow has among the calls of its organization: one for each of its steps that call out. */
export class FlowSlots {
  readonly #activeRuns: ActiveRunLimiter;
  readonly #scope: Scope;
  readonly #runId: string;
  #held = 0;
  /** Whether the row was read: a killed execution may have left further slots. */
  #isKnown = false;

  constructor(activeRuns: ActiveRunLimiter, scope: Scope, runId: string) {
    this.#activeRuns = activeRuns;
    this.#scope = scope;
    this.#runId = runId;
  }

  /**
   * Takes and gives back slots, as other runs of the organization leave them.
   * @param used how many steps call out now
   * @param ready further steps that could begin: when the flow gets no slot at all, readers see that these wait
   * @returns how many may call out
   */
  take(used: number, ready: readonly CallingLeaf[]): Promise<number> {
    return this.#change(used, used + ready.length, ready);
  }

  async #change(used: number, wanted: number, ready: readonly CallingLeaf[] = []): Promise<number> {
    if (wanted === 0) return this.#held;
    if (this.#held === 0) {
      if (!(await this.#activeRuns.claim(this.#scope, this.#runId, toWaitingSteps(ready)))) return 0;
      this.#held = 1;
    }
    if (this.#isKnown && wanted === 1 && this.#held === 1) return 1;
    const changed = await this.#scope.one(changeExtra, {
      runId: this.#runId,
      used,
      wanted,
      slotsByPlan: slotsByPlan(),
    });
    // Without a row the slot was taken back: its lease had run out.
    if (!changed) return used;
    const before = this.#held;
    this.#held = changed.extra + 1;
    this.#isKnown = true;
    if (this.#held < before) await this.#activeRuns.freed(this.#scope, changed.waiting);
    return this.#held;
  }

  /** Records which steps wait for slots: more may be ready than when the flow began to wait. */
  async recordWaiting(ready: readonly CallingLeaf[]): Promise<void> {
    await this.#scope.rows(setWaiting, { runId: this.#runId, steps: JSON.stringify(toWaitingSteps(ready)) });
  }

  /** Keeps one slot for what follows, and gives back the others. */
  async handOver(): Promise<void> {
    try {
      if (this.#held > 1) await this.#change(0, 1);
    } finally {
      this.forget();
    }
  }

  /** Leaves the slots to the next execution, or to the record of the end: this process renews them no longer. */
  forget(): void {
    this.#activeRuns.handOver(this.#runId);
  }

  /** Gives up all of them, and the place of a run that waits for one. */
  async leave(): Promise<void> {
    await this.#activeRuns.release(this.#scope, this.#runId);
    this.#held = 0;
  }
}
