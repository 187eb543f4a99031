/** The most steps that one workflow may have. */
export const maxSteps = 100;

export const stepIdPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

export const providers = ['ANTHROPIC', 'OPENAI', 'GOOGLE'] as const;
export type Provider = (typeof providers)[number];

export interface ModelChoice {
  provider: Provider;
  model: string;
}

/** A step that renders its template and asks a text model. */
export interface PromptStep {
  id: string;
  type: 'prompt';
  name?: string | undefined;
  /** Template; absent means `{{input}}`. */
  prompt?: string | undefined;
  provider?: Provider | undefined;
  model?: string | undefined;
  /** Template too. */
  system?: string | undefined;
  /** 0 to 1. */
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  /** JSON Schema: the answer is then JSON that it accepts, and the output that value. */
  outputSchema?: Record<string, unknown> | undefined;
  /** How often the step may be tried in all. */
  retry?: { maxAttempts: number } | undefined;
  /** Asked in this order, each when the one before it fails in a way that may pass. */
  fallback?: ModelChoice[] | undefined;
}

interface ExpressionStep {
  id: string;
  name?: string | undefined;
  /** CEL; where it is absent, `prompt` holds it. */
  expression?: string | undefined;
  prompt?: string | undefined;
}

/** A step whose output is what its expression gives. */
export interface TransformStep extends ExpressionStep {
  type: 'transform';
}

/** A step that chooses what comes next. */
export interface ConditionStep extends ExpressionStep {
  type: 'condition';
  /** Id of a later step, or `end`. Absent: the next step. */
  then?: string | undefined;
  /** Id of a later step, or `end`. Absent: the run ends, completed. */
  else?: string | undefined;
}

export type Step = PromptStep | TransformStep | ConditionStep;

export const expressionOf = ({ expression, prompt }: TransformStep | ConditionStep): string | undefined =>
  expression ?? prompt;

/** Where a jump leads: a position, or `steps.length` for the end. Undefined when it leads nowhere later. */
function targetOf(steps: readonly Step[], from: number, target: string): number | undefined {
  const position = steps.findIndex(({ id }, index) => index > from && id === target);
  if (position >= 0) return position;
  return target === 'end' ? steps.length : undefined;
}

/**
 * The position of the step that follows one that was performed, or `steps.length` when the run is complete. It always
 * grows, so every run ends.
 * @param output of a condition: whether it held
 */
export function nextStep(steps: readonly Step[], position: number, output: unknown): number {
  const step = steps[position];
  const next = position + 1;
  if (step?.type !== 'condition') return Math.min(next, steps.length);
  const target = output === true ? step.then : (step.else ?? 'end');
  // What cannot be saved cannot be reached; a definition that has it all the same ends there.
  return target === undefined ? next : (targetOf(steps, position, target) ?? steps.length);
}

/** The models that a step may ask, in order: its own choice or its workflow's, and then its fallbacks. */
export function candidatesOf(step: PromptStep, byDefault: ModelChoice): [ModelChoice, ...ModelChoice[]] {
  const first = { provider: step.provider ?? byDefault.provider, model: step.model ?? byDefault.model };
  return [first, ...(step.fallback ?? [])];
}

export interface StepProblem {
  /** Dotted path below `steps`, as in `1.id`. */
  path: string;
  message: string;
}

/** Problems between steps, which no schema of a single step can see. */
export function findStepProblems(steps: readonly Step[]): StepProblem[] {
  const seen = new Set<string>();
  const problems: StepProblem[] = [];
  steps.forEach((step, index) => {
    if (seen.has(step.id)) problems.push({ path: `${index}.id`, message: `The id "${step.id}" is used twice.` });
    seen.add(step.id);
    if (step.type !== 'condition') return;
    for (const branch of ['then', 'else'] as const) {
      const target = step[branch];
      if (target === undefined || targetOf(steps, index, target) !== undefined) continue;
      const message = `Expected the id of a later step, or "end"; "${target}" is neither.`;
      problems.push({ path: `${index}.${branch}`, message });
    }
  });
  return problems;
}
