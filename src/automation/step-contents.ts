import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../platform/bounded-work/task.ts';
import { unavailable } from '../platform/errors.ts';
import type { TenantKey } from '../platform/tenant-key.ts';
import type { CheckedExpression } from './bounded/check-expression.ts';
import * as tasks from './bounded-tasks.ts';
import { type ExpressionKind, findLengthProblem } from './core/expression.ts';
import type { ExpressionReferences } from './core/step-references.ts';
import { expressionOf, type Step, type StepProblem } from './core/steps.ts';
import { findSchemaProblem } from './output-schema.ts';

/** For all steps of one workflow together. */
const maxCheckMs = 10_000;

/** Checks an expression as a step of this kind has it. @throws WorkQueueFull */
export async function checkExpression(
  work: BoundedWork,
  tenantKey: TenantKey,
  source: string | undefined,
  kind: ExpressionKind,
): Promise<CheckedExpression> {
  if (source === undefined || source.trim() === '') return { problem: 'Expected an expression.' };
  const tooLong = findLengthProblem(source);
  if (tooLong) return { problem: tooLong };
  try {
    return await work.run(tasks.checkExpression, tenantKey, { source, kind });
  } catch (error) {
    if (error instanceof WorkTooCostly) return { problem: `The expression is too costly: ${error.message}` };
    throw error;
  }
}

type Checked = { path: string } & CheckedExpression;

/** @returns undefined for a step without expression or problem */
async function checkStep(work: BoundedWork, tenantKey: TenantKey, step: Step): Promise<Checked | undefined> {
  if (step.type === 'prompt') {
    const problem = step.outputSchema && (await findSchemaProblem(work, tenantKey, step.outputSchema));
    return problem ? { path: 'outputSchema', problem } : undefined;
  }
  if (step.type !== 'condition' && step.type !== 'transform') return undefined;
  const path = step.expression === undefined && step.prompt !== undefined ? 'prompt' : 'expression';
  return { path, ...(await checkExpression(work, tenantKey, expressionOf(step), step.type)) };
}

export interface ContentFindings {
  problems: StepProblem[];
  /** The references of each expression without a problem. */
  references: ExpressionReferences[];
}

/**
 * Problems inside steps, and what their expressions refer to: expressions and schemas are compiled when they are saved, not only when a run needs them.
 * @throws AppError service_unavailable while too much of the organization's is being checked
 */
export async function checkContents(
  work: BoundedWork,
  tenantKey: TenantKey,
  steps: readonly Step[],
): Promise<ContentFindings> {
  const problems: StepProblem[] = [];
  const references: ExpressionReferences[] = [];
  const startedAt = performance.now();
  try {
    for (const [index, step] of steps.entries()) {
      const checked = await checkStep(work, tenantKey, step);
      if (checked && 'problem' in checked)
        problems.push({ path: `${index}.${checked.path}`, message: checked.problem });
      else if (checked) references.push({ index, ...checked });
      if (performance.now() - startedAt > maxCheckMs) {
        problems.push({ path: `${index}`, message: 'Checking the steps up to this one took too long.' });
        break;
      }
    }
  } catch (error) {
    if (error instanceof WorkQueueFull) throw unavailable('Checking workflows');
    throw error;
  }
  return { problems, references };
}
