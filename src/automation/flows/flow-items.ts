import type { Scope } from '../../platform/database/scope.ts';
import type { ItemScope } from '../core/flow-walk.ts';
import { dottedPath } from '../core/step-path.ts';
import { type MapStep, maxItems } from '../core/step-types.ts';
import type { RunServices } from '../runs/run-execution.ts';
import { evaluateStep } from '../steps/evaluate-step.ts';
import type { StepFault } from '../steps/step-context.ts';
import type { FlowExecution } from './flow-execution.ts';

const fault = (code: StepFault['code'], message: string): { fault: StepFault } => ({
  fault: { status: 'failed', code, message },
});

/** The lists that the maps of a flow go through. They are evaluated again when a run is loaded, and not stored. */
export class FlowItems {
  readonly #services: RunServices;
  readonly #scope: Scope;
  readonly #run: FlowExecution;
  /** By the dotted path of the map. */
  readonly #known = new Map<string, readonly unknown[]>();

  constructor(services: RunServices, scope: Scope, run: FlowExecution) {
    this.#services = services;
    this.#scope = scope;
    this.#run = run;
  }

  /** The items of the innermost of these maps. @throws Error if they can no longer be evaluated */
  readonly of = async (scopes: readonly ItemScope[]): Promise<readonly unknown[]> => {
    const { path } = scopes.at(-1)!;
    const key = dottedPath(path);
    const known = this.#known.get(key);
    if (known) return known;
    const step = this.#run.stepAt(key) as MapStep;
    const found = await this.evaluate({ path, scopes: scopes.slice(0, -1) }, step);
    if ('fault' in found) throw new Error(`The items of ${key} cannot be evaluated again: ${found.fault.code}`);
    return found.items;
  };

  /** Evaluates the list of a map that begins. @throws WorkQueueFull; StorageFailure */
  async evaluate(
    { path, scopes }: { path: ItemScope['path']; scopes: readonly ItemScope[] },
    { id, items }: MapStep,
  ): Promise<{ items: readonly unknown[] } | { fault: StepFault }> {
    const context = this.#run.contextOf({ path, scopes }, this.of);
    const expression = { id, type: 'transform' as const, expression: items };
    const end = await evaluateStep(this.#services.boundedWork, this.#scope.tenantKey, context, expression);
    if (end.status === 'failed') return { fault: end };
    const { value } = end.output;
    if (!Array.isArray(value)) return fault('expression_error', '`items` must be a list.');
    if (value.length > maxItems) {
      return fault('too_many_items', `The list has ${value.length} items, and a map takes at most ${maxItems}.`);
    }
    this.#known.set(dottedPath(path), value);
    return { items: value };
  }
}
