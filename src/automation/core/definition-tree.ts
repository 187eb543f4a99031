import { isContainer, listsOf } from './step-types.ts';
import type { Step, StepProblem } from './steps.ts';

/** Maximum depth of nested containers. */
const maxNesting = 3;

/** A step of a definition, and its context. */
export interface PlacedStep {
  step: Step;
  /** Dotted, below `steps`: `0.branches.1.steps.2`. */
  at: string;
  /** The list that contains it, and its position there. */
  list: readonly Step[];
  index: number;
  isInMap: boolean;
  /** Ids of the steps whose outputs the step sees: earlier steps of its list, and of the lists around it. */
  visible: ReadonlySet<string>;
}

/** How the paths of the lists in a container begin. */
function pathsOf(step: Step): string[] {
  if (!isContainer(step)) return [];
  return step.type === 'map' ? ['steps'] : step.branches.map((_, index) => `branches.${index}.steps`);
}

/** Every step of a definition, in the order in which they are written. */
export function placedSteps(
  steps: readonly Step[],
  around: { at: string; isInMap: boolean; visible: ReadonlySet<string> } = {
    at: '',
    isInMap: false,
    visible: new Set(),
  },
): PlacedStep[] {
  const visible = new Set(around.visible);
  return steps.flatMap((step, index) => {
    const at = `${around.at}${index}`;
    const seen = new Set(visible);
    const placed = { step, at, list: steps, index, isInMap: around.isInMap, visible: seen };
    const paths = pathsOf(step);
    const isInMap = around.isInMap || step.type === 'map';
    const inner = isContainer(step)
      ? listsOf(step).flatMap((list, child) =>
          placedSteps(list, { at: `${at}.${paths[child]}.`, isInMap, visible: seen }),
        )
      : [];
    visible.add(step.id);
    return [placed, ...inner];
  });
}

/** Definitions that are too large to be looked at closely. @param max steps in all */
export function findSizeProblem(steps: readonly Step[], max: number): StepProblem | undefined {
  let count = 0;
  const look = (list: readonly Step[], at: string, depth: number): StepProblem | undefined => {
    for (const [index, step] of list.entries()) {
      if (++count > max) return { path: '', message: `Expected at most ${max} steps in all.` };
      if (!isContainer(step)) continue;
      if (depth === maxNesting) {
        return {
          path: `${at}${index}`,
          message: `Steps of the types parallel and map may be nested ${maxNesting} deep.`,
        };
      }
      const paths = pathsOf(step);
      for (const [child, inner] of listsOf(step).entries()) {
        const problem = look(inner, `${at}${index}.${paths[child]}.`, depth + 1);
        if (problem) return problem;
      }
    }
    return undefined;
  };
  return look(steps, '', 0);
}
