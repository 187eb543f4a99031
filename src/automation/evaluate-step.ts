import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../platform/bounded-work/task.ts';
import type { TenantKey } from '../platform/tenant-key.ts';
import { type Evaluated, perform } from './bounded/evaluate-expression.ts';
import { evaluateExpression } from './bounded-tasks.ts';
import { ExpressionError, isProvedCheap, parseExpression } from './core/expression.ts';
import { type ConditionStep, expressionOf, type TransformStep } from './core/steps.ts';
import { TemplateTooLong } from './core/template.ts';
import type { StepContext } from './step-context.ts';
import type { StepEnd } from './step-end.ts';
import { OutputsTooLarge } from './step-outputs.ts';
import { storable } from './storable.ts';

/** Failures of the tenant's own expressions and templates, with the values of this run. */
export const isExpressionFault = (error: unknown): error is Error =>
  error instanceof ExpressionError || error instanceof TemplateTooLong || error instanceof OutputsTooLarge;

async function evaluate(
  work: BoundedWork,
  tenantKey: TenantKey,
  context: StepContext,
  step: ConditionStep | TransformStep,
): Promise<unknown> {
  const expression = parseExpression(expressionOf(step) ?? '', step.type);
  const { source, kind, names } = expression;
  const given = await context.values(names.has('steps') ? expression.steps : new Set());
  const values = {
    ...given,
    input: names.has('input') ? given.input : null,
    variables: names.has('variables') ? given.variables : {},
  };
  const evaluation = { source, kind, values };
  let evaluated: Evaluated;
  if (isProvedCheap(expression, values)) evaluated = perform(evaluation);
  else {
    evaluated = await work.run(evaluateExpression, tenantKey, evaluation);
    // Its output may be large: others have their turn between what is done with it.
    await yieldToEventLoop();
  }
  if ('problem' in evaluated) throw new ExpressionError(evaluated.problem);
  return evaluated.output;
}

/**
 * Evaluates a step's expression: in this process when it is proved cheap, else in a process of the pool. An expression
 * that exceeds a limit fails its step finally.
 * @throws WorkQueueFull while too much of the organization's is being evaluated
 */
export async function evaluateStep(
  work: BoundedWork,
  tenantKey: TenantKey,
  context: StepContext,
  step: ConditionStep | TransformStep,
): Promise<StepEnd> {
  const failed = (message: string): StepEnd => ({ status: 'failed', code: 'expression_error', message });
  try {
    const output = storable(await evaluate(work, tenantKey, context, step));
    return output ? { status: 'completed', output } : failed('The result is too large.');
  } catch (error) {
    if (error instanceof WorkTooCostly) return failed(`The expression is too costly: ${error.message}`);
    if (isExpressionFault(error)) return failed(error.message);
    throw error;
  }
}
