import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../platform/bounded-work/task.ts';
import { unavailable } from '../platform/errors.ts';
import * as tasks from './bounded-tasks.ts';
import { maxSourceLength } from './core/expression.ts';
import { expressionOf, type Step, type StepProblem } from './core/steps.ts';
import { findSchemaProblem } from './output-schema.ts';

type EvaluatedStep = Exclude<Step, { type: 'prompt' }>;

/** For all steps of one workflow together. */
const maxCheckMs = 10_000;

async function expressionProblem(
  work: BoundedWork,
  organizationId: string,
  step: EvaluatedStep,
): Promise<string | undefined> {
  const source = expressionOf(step);
  if (source === undefined || source.trim() === '') return 'Expected an expression.';
  if (source.length > maxSourceLength) return `An expression may have ${maxSourceLength} characters at most.`;
  try {
    return (await work.run(tasks.checkExpression, organizationId, { source, kind: step.type })) ?? undefined;
  } catch (error) {
    if (error instanceof WorkTooCostly) return `The expression is too costly: ${error.message}`;
    throw error;
  }
}

async function problemIn(work: BoundedWork, organizationId: string, step: Step): Promise<StepProblem | undefined> {
  if (step.type === 'prompt') {
    const message = step.outputSchema && (await findSchemaProblem(work, organizationId, step.outputSchema));
    return message ? { path: 'outputSchema', message } : undefined;
  }
  const message = await expressionProblem(work, organizationId, step);
  const path = step.expression === undefined && step.prompt !== undefined ? 'prompt' : 'expression';
  return message ? { path, message } : undefined;
}

/**
 * Problems inside steps: expressions and schemas are compiled when they are saved, not only when a run needs them.
 * @throws AppError service_unavailable while too much of the organization's is being checked
 */
export async function findContentProblems(
  work: BoundedWork,
  organizationId: string,
  steps: readonly Step[],
): Promise<StepProblem[]> {
  const problems: StepProblem[] = [];
  const startedAt = performance.now();
  try {
    for (const [index, step] of steps.entries()) {
      const problem = await problemIn(work, organizationId, step);
      if (problem) problems.push({ path: `${index}.${problem.path}`, message: problem.message });
      if (performance.now() - startedAt > maxCheckMs) {
        problems.push({ path: `${index}`, message: 'Checking the steps up to this one took too long.' });
        break;
      }
    }
  } catch (error) {
    if (error instanceof WorkQueueFull) throw unavailable('Checking workflows');
    throw error;
  }
  return problems;
}
