import type { StepPath } from '../core/step-path.ts';
import { isContainer, listsOf } from '../core/step-types.ts';
import type { Step } from '../core/steps.ts';

/** A list of steps around a step, and how the paths of its steps begin. */
interface Around {
  prefix: string;
  steps: readonly Step[];
  /** Position of the step, or of the container that it is in. */
  before: number;
}

function childList(step: Step, key: string | number): readonly Step[] {
  if (!isContainer(step)) return [];
  if (step.type === 'map') return step.steps;
  return step.branches.find(({ id }) => id === key)?.steps ?? listsOf(step)[0]!;
}

/** The lists that contain a step, outermost first. */
function listsAround(steps: readonly Step[], path: StepPath): Around[] {
  const found: Around[] = [];
  let list = steps;
  for (let at = 0; at < path.length; at += 2) {
    const before = list.findIndex(({ id }) => id === path[at]);
    if (before < 0) return found;
    const prefix = path.slice(0, at).map((part) => `${part}.`);
    found.push({ prefix: prefix.join(''), steps: list, before });
    const child = path[at + 1];
    if (child !== undefined) list = childList(list[before]!, child);
  }
  return found;
}

/**
 * The steps whose outputs a step sees: earlier steps of its list and of the lists around it.
 * @param named ids; others are left out
 * @returns their dotted paths by their ids
 */
export function visibleSteps(
  steps: readonly Step[],
  path: StepPath,
  named: ReadonlySet<string> | 'all',
): Map<string, string> {
  const found = new Map<string, string>();
  for (const { prefix, steps: list, before } of listsAround(steps, path)) {
    for (const { id } of list.slice(0, before)) {
      if (named === 'all' || named.has(id)) found.set(id, `${prefix}${id}`);
    }
  }
  return found;
}
