/** The most steps that one workflow may have. */
export const maxSteps = 100;

export const stepIdPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

export const providers = ['ANTHROPIC', 'OPENAI', 'GOOGLE'] as const;
export type Provider = (typeof providers)[number];

/** A step that renders its template and asks a text model. */
export interface PromptStep {
  id: string;
  type: 'prompt';
  name?: string | undefined;
  /** Template; absent means `{{input}}`. */
  prompt?: string | undefined;
  provider?: Provider | undefined;
  model?: string | undefined;
  system?: string | undefined;
  /** 0 to 1. */
  temperature?: number | undefined;
  maxTokens?: number | undefined;
}

/** One kind today; conditions and transforms join this union. */
export type Step = PromptStep;

/** What a run does next, given how many steps it has finished: the steps run in the order in which they stand. */
export type NextStep = { kind: 'perform'; position: number; last: boolean } | { kind: 'finish' };

export function nextStep(stepCount: number, finishedSteps: number): NextStep {
  if (finishedSteps >= stepCount) return { kind: 'finish' };
  return { kind: 'perform', position: finishedSteps, last: finishedSteps === stepCount - 1 };
}

/** Which model a step asks: its own choice, else its workflow's. */
export function modelOf(step: PromptStep, fallback: { provider: Provider; model: string }) {
  return { provider: step.provider ?? fallback.provider, model: step.model ?? fallback.model };
}

export interface StepProblem {
  /** Dotted path below `steps`, as in `1.id`. */
  path: string;
  message: string;
}

/** Problems between steps, which no schema of a single step can see. */
export function findStepProblems(steps: readonly { id: string }[]): StepProblem[] {
  const seen = new Set<string>();
  const problems: StepProblem[] = [];
  steps.forEach((step, index) => {
    if (seen.has(step.id)) problems.push({ path: `${index}.id`, message: `The id "${step.id}" is used twice.` });
    seen.add(step.id);
  });
  return problems;
}
