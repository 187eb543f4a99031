import { isLinearStep, type LinearStep } from '../../../src/automation/core/step-types.ts';
import type { Step } from '../../../src/automation/core/steps.ts';

/** A step as dialect A shows it: as it was saved. */
export const shownStep = (step: Step) => (isLinearStep(step) ? step : { ...step });

function linearInB(step: LinearStep) {
  const name = step.name ?? step.id;
  return step.type === 'prompt' ? { ...step, name, type: 'ai_chat' as const } : { ...step, name };
}

interface ShownFlowStep {
  id: string;
  type: Exclude<Step, LinearStep>['type'];
  name: string;
  [field: string]: unknown;
}

/**
 * The form of a step in dialect B, including the steps within it: a step that asks a model is `ai_chat`, and a step
 * without a name has its id as name.
 */
export function shownStepInB(step: Step): ReturnType<typeof linearInB> | ShownFlowStep {
  if (isLinearStep(step)) return linearInB(step);
  const shown: ShownFlowStep = { ...step, name: step.name ?? step.id };
  if (step.type === 'map') shown.steps = step.steps.map(shownStepInB);
  if (step.type === 'parallel') {
    shown.branches = step.branches.map((branch) => ({ ...branch, steps: branch.steps.map(shownStepInB) }));
  }
  return shown;
}
