import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { ExpressionError, parseExpression } from '../core/expression.ts';
import { type ConditionStep, expressionOf, type TransformStep } from '../core/steps.ts';
import { TemplateTooLong } from '../core/template.ts';
import { evaluateExpression } from './evaluate-expression.ts';
import type { StepContext } from './step-context.ts';
import type { StepEnd } from './step-end.ts';
import { OutputsTooLarge } from './step-outputs.ts';
import type { Storable } from './storable.ts';

/** Failures of the tenant's own expressions and templates, with the values of this run. */
export const isExpressionFault = (error: unknown): error is Error =>
  error instanceof ExpressionError || error instanceof TemplateTooLong || error instanceof OutputsTooLarge;

async function evaluate(
  work: BoundedWork,
  tenantKey: TenantKey,
  context: StepContext,
  step: ConditionStep | TransformStep,
): Promise<Storable | undefined> {
  const expression = parseExpression(expressionOf(step) ?? '', step.type, context.variables);
  const given = await context.storedValues(expression.names.has('steps') ? expression.steps : new Set());
  return evaluateExpression(work, tenantKey, expression, given);
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
    const output = await evaluate(work, tenantKey, context, step);
    return output ? { status: 'completed', output } : failed('The result is too large.');
  } catch (error) {
    if (isExpressionFault(error)) return failed(error.message);
    throw error;
  }
}
