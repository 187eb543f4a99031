import { isContainer, listsOf } from './step-types.ts';
import type { Step } from './steps.ts';

/** Leaves of the steps before each position of a list, and at its end the total. */
const sums = new WeakMap<readonly Step[], readonly number[]>();

function sumsOf(steps: readonly Step[]): readonly number[] {
  const known = sums.get(steps);
  if (known) return known;
  const made = [0];
  for (const step of steps) made.push(made.at(-1)! + leavesOf(step));
  sums.set(steps, made);
  return made;
}

/** Steps that execute something, within a step; the list of a map counts once. */
export const leavesOf = (step: Step): number =>
  isContainer(step) ? listsOf(step).reduce((sum, steps) => sum + leavesIn(steps), 0) : 1;

/** The same of the steps of a list from a position to before another. */
export function leavesIn(steps: readonly Step[], from = 0, to = steps.length): number {
  const counted = sumsOf(steps);
  return counted[to]! - counted[Math.min(from, to)]!;
}
