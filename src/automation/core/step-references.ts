import { shortened } from '../../platform/core/shortened.ts';
import type { PlacedStep } from './definition-tree.ts';
import { templatesIn } from './payload.ts';
import { isOfFeature } from './step-types.ts';
import type { Step, StepProblem } from './steps.ts';
import { templateNames } from './template.ts';

export const workflowWarningCodes = [
  'unknown_field',
  'unused_field',
  'unknown_model',
  'missing_prompt',
  'unknown_step',
  'later_step',
  'missing_secret',
  'unknown_workflow',
  'unknown_version',
  'unresolved_name',
] as const;

/** Maximum of warnings about a workflow; further ones are alike. */
export const maxWorkflowWarnings = 50;

/** Something in a workflow that was saved and probably is not meant. */
export interface WorkflowWarning {
  /** Dotted, as in `steps.1.prompt`. */
  path: string;
  code: (typeof workflowWarningCodes)[number];
  message: string;
}

/** The templates of a step, by the field that has them. */
function templatesOf(step: Step): [field: string, templates: string[]][] {
  if (isOfFeature(step)) return [['payload', templatesIn(step.payload)]];
  switch (step.type) {
    case 'prompt':
      return [
        ['prompt', [step.prompt ?? '']],
        ['system', [step.system ?? '']],
      ];
    case 'wait':
      return [['until', [step.until ?? '']]];
    case 'approval':
      return [
        ['message', [step.message]],
        ['approvers', step.approvers ?? []],
      ];
    case 'workflow':
      return [
        ['input', templatesIn(step.input)],
        ['variables', templatesIn(step.variables)],
      ];
    case 'http':
      return [
        ['url', [step.url]],
        ['query', templatesIn(step.query)],
        ['headers', templatesIn(step.headers)],
        ['body', templatesIn(step.body)],
      ];
    case 'fail':
      return [['message', [step.message]]];
    default:
      return [];
  }
}

/** Ids of the steps whose outputs the templates of a step refer to. */
export const stepsNamed = (step: Step): ReadonlySet<string> =>
  new Set(templatesOf(step).flatMap(([, templates]) => templates.flatMap(templateNames)));

/** The steps that the expression of a step looks at. */
export interface ExpressionReferences {
  /** The step. */
  place: PlacedStep;
  /** The field that holds the expression. */
  path: string;
  steps: readonly string[];
  /** The steps whose outputs the expression needs. */
  needed: readonly string[];
}

interface ReferenceFindings {
  /** References that fail in every run. Their paths are below `steps`. */
  problems: StepProblem[];
  warnings: WorkflowWarning[];
}

/**
 * Checks the steps that templates and expressions refer to: a step sees the outputs of those before it, in its own list and in
 * the lists around it.
 */
export function findReferenceFindings(
  placed: readonly PlacedStep[],
  expressions: readonly ExpressionReferences[],
): ReferenceFindings {
  const known = new Set(placed.map(({ step }) => step.id));
  const problems: StepProblem[] = [];
  const warnings: WorkflowWarning[] = [];

  /** @returns undefined for a step that is seen */
  function faultOf(id: string, { visible }: PlacedStep): Pick<WorkflowWarning, 'code' | 'message'> | undefined {
    if (visible.has(id)) return undefined;
    if (!known.has(id)) return { code: 'unknown_step', message: `There is no step "${shortened(id, 100)}".` };
    const message = `The step "${id}" does not come before this one and has no output yet.`;
    return { code: 'later_step', message };
  }

  for (const { place, path, steps: named, needed } of expressions) {
    for (const id of named) {
      const fault = faultOf(id, place);
      if (!fault) continue;
      if (needed.includes(id)) problems.push({ path: `${place.at}.${path}`, message: fault.message });
      else warnings.push({ path: `steps.${place.at}.${path}`, ...fault });
    }
  }
  for (const place of placed) {
    const { step, at } = place;
    if (step.type === 'prompt' && (step.prompt ?? '').trim() === '') {
      const message = step.prompt === undefined ? 'The step has no prompt. {{input}} is used.' : 'The prompt is empty.';
      warnings.push({ path: `steps.${at}.prompt`, code: 'missing_prompt', message });
    }
    for (const [field, templates] of templatesOf(step)) {
      for (const id of new Set(templates.flatMap(templateNames))) {
        const fault = faultOf(id, place);
        if (fault) warnings.push({ path: `steps.${at}.${field}`, ...fault });
      }
    }
  }
  return { problems, warnings };
}
