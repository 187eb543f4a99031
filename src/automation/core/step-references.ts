import { templatesIn } from './payload.ts';
import { type CallingStep, isCalling, type Step, type StepProblem } from './steps.ts';
import { templateNames } from './template.ts';

export const workflowWarningCodes = [
  'unknown_field',
  'unused_field',
  'unknown_model',
  'missing_prompt',
  'unknown_step',
  'later_step',
] as const;

/** Something in a workflow that was saved and probably is not meant. */
export interface WorkflowWarning {
  /** Dotted, as in `steps.1.prompt`. */
  path: string;
  code: (typeof workflowWarningCodes)[number];
  message: string;
}

/** The templates of a step, by the field that has them. */
const templatesOf = (step: CallingStep): [field: string, templates: string[]][] =>
  step.type === 'action'
    ? [['payload', templatesIn(step.payload)]]
    : [
        ['prompt', [step.prompt ?? '']],
        ['system', [step.system ?? '']],
      ];

/** Ids of the steps whose outputs the templates of a step refer to. */
export const stepsNamed = (step: CallingStep): ReadonlySet<string> =>
  new Set(templatesOf(step).flatMap(([, templates]) => templates.flatMap(templateNames)));

/** The steps that the expression of a step looks at. */
export interface ExpressionReferences {
  /** Position of the step. */
  index: number;
  /** The field that holds the expression. */
  path: string;
  steps: readonly string[];
  /** Those without whose output the expression cannot be evaluated. */
  needed: readonly string[];
}

export interface ReferenceFindings {
  /** References that fail in every run. Their paths are below `steps`. */
  problems: StepProblem[];
  warnings: WorkflowWarning[];
}

/** Checks the steps that prompts and expressions refer to: only steps before their own can have an output. */
export function findReferenceFindings(
  steps: readonly Step[],
  expressions: readonly ExpressionReferences[],
): ReferenceFindings {
  const positions = new Map(steps.map(({ id }, index) => [id, index]));
  const problems: StepProblem[] = [];
  const warnings: WorkflowWarning[] = [];

  /** @returns undefined for a step before `index` */
  function faultOf(id: string, index: number): Pick<WorkflowWarning, 'code' | 'message'> | undefined {
    const position = positions.get(id);
    if (position === undefined) return { code: 'unknown_step', message: `There is no step "${id}".` };
    if (position < index) return undefined;
    const message = `The step "${id}" does not come before this one and has no output yet.`;
    return { code: 'later_step', message };
  }

  for (const { index, path, steps: named, needed } of expressions) {
    for (const id of named) {
      const fault = faultOf(id, index);
      if (!fault) continue;
      if (needed.includes(id)) problems.push({ path: `${index}.${path}`, message: fault.message });
      else warnings.push({ path: `steps.${index}.${path}`, ...fault });
    }
  }
  for (const [index, step] of steps.entries()) {
    if (!isCalling(step)) continue;
    if (step.type === 'prompt' && (step.prompt ?? '').trim() === '') {
      const message = step.prompt === undefined ? 'The step has no prompt. {{input}} is used.' : 'The prompt is empty.';
      warnings.push({ path: `steps.${index}.prompt`, code: 'missing_prompt', message });
    }
    for (const [field, templates] of templatesOf(step)) {
      for (const id of new Set(templates.flatMap(templateNames))) {
        const fault = faultOf(id, index);
        if (fault) warnings.push({ path: `steps.${index}.${field}`, ...fault });
      }
    }
  }
  return { problems, warnings };
}
