import type { ActionStep, ConditionStep, ModelChoice, PromptStep, Step, TransformStep } from './step-types.ts';

export {
  type ActionStep,
  type ConditionStep,
  type ModelChoice,
  type PromptStep,
  type Provider,
  providers,
  type Step,
  type TransformStep,
} from './step-types.ts';

/** The most steps that one workflow may have. */
export const maxSteps = 100;

export const stepIdPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** What `then` and `else` call the end of the run. No step has this id. */
export const endOfRun = 'end';

export const usesTools = ({ tools = [] }: PromptStep): boolean => tools.length > 0;

/** Types that call out of the process, or may. */
export type CallingStep = PromptStep | ActionStep;

export const isCalling = (step: Step): step is CallingStep => step.type === 'prompt' || step.type === 'action';

export const expressionOf = ({ expression, prompt }: TransformStep | ConditionStep): string | undefined =>
  expression ?? prompt;

/** The position that a jump leads to, or `steps.length` for the end. Undefined if there is no such later step. */
function targetOf(steps: readonly Step[], from: number, target: string): number | undefined {
  const position = steps.findIndex(({ id }, index) => index > from && id === target);
  if (position >= 0) return position;
  return target === endOfRun ? steps.length : undefined;
}

/**
 * The position of the step after an executed one, or `steps.length` if the run is complete. Positions only increase, so
 * every run ends.
 * @param output the value of a condition
 */
export function nextStep(steps: readonly Step[], position: number, output: unknown): number {
  const step = steps[position];
  const next = position + 1;
  if (step?.type !== 'condition') return Math.min(next, steps.length);
  const target = output === true ? step.then : (step.else ?? endOfRun);
  // Saved definitions have valid targets; with an invalid one the run ends.
  return target === undefined ? next : (targetOf(steps, position, target) ?? steps.length);
}

/** Whether a step leaves the process or takes time, as far as it can be known before its values are. */
export const callsOut = (step: Step | undefined, mayBeInstant: boolean): boolean =>
  step?.type === 'action' || (step?.type === 'prompt' && (usesTools(step) || !mayBeInstant));

/** The models of a step in the order in which they are called: its own or its workflow's, then its fallbacks. */
export function candidatesOf(step: PromptStep, byDefault: ModelChoice): [ModelChoice, ...ModelChoice[]] {
  const first = { provider: step.provider ?? byDefault.provider, model: step.model ?? byDefault.model };
  return [first, ...(step.fallback ?? [])];
}

export interface StepProblem {
  /** Dotted path below `steps`, as in `1.id`. */
  path: string;
  message: string;
}

/** Problems with where a condition leads: `then` and `else` name a later step of the same list. */
export function findTargetProblems(list: readonly Step[], index: number): StepProblem[] {
  const step = list[index];
  if (step?.type !== 'condition') return [];
  return (['then', 'else'] as const).flatMap((path) => {
    const target = step[path];
    if (target === undefined || targetOf(list, index, target) !== undefined) return [];
    return [{ path, message: `Expected the id of a later step, or "end"; "${target}" is neither.` }];
  });
}
