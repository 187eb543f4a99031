import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { evaluateExpression as task } from '../bounded/bounded-tasks.ts';
import { type Evaluated, perform } from '../bounded/evaluate-expression.ts';
import {
  cheapWork,
  ExpressionError,
  isProvedCheap,
  type ParsedExpression,
  parseExpression,
} from '../core/expression.ts';
import { type ConditionStep, expressionOf, type TransformStep } from '../core/steps.ts';
import { TemplateTooLong } from '../core/template.ts';
import type { StepContext, StepEnd, StoredValues } from './step-context.ts';
import { OutputsTooLarge, valuesOfOutputs } from './step-outputs.ts';
import { type Storable, storable, storableContent } from './storable.ts';

/** Values that an expression does not mention are neither read nor sent to another process. */
function valuesNamed({ names }: ParsedExpression, given: StoredValues): StoredValues {
  const { scope } = given;
  return {
    input: names.has('input') ? given.input : null,
    variables: names.has('variables') ? given.variables : {},
    steps: names.has('steps') ? given.steps : {},
    ...(scope && { scope: { ...scope, item: names.has('item') ? scope.item : null } }),
  };
}

/** The input of the pool's process, as JSON: outputs in their stored form. */
function taskArguments({ source, kind, variables }: ParsedExpression, { steps, ...values }: StoredValues): string {
  const json = JSON.stringify({ source, kind, variables, values });
  const outputs = Object.entries(steps).map(([id, output]) => `${JSON.stringify(id)}:${output.json}`);
  return `${json.slice(0, -'}}'.length)},"steps":{${outputs.join(',')}}}}`;
}

/** @throws ExpressionError */
function outputOf(evaluated: Evaluated): Storable | undefined {
  if ('problem' in evaluated) throw new ExpressionError(evaluated.problem);
  return storable(evaluated.output);
}

/** How an answer of the task begins that is no problem. */
const outputBegins = Buffer.from('{"output":');

/** The output in the answer of the process, which is not parsed. @throws ExpressionError */
const outputIn = (answer: Buffer): Storable | undefined =>
  answer.subarray(0, outputBegins.length).equals(outputBegins)
    ? storableContent(answer.subarray(outputBegins.length, -'}'.length))
    : outputOf(JSON.parse(answer.toString()) as Evaluated);

/** @returns undefined where it is not proved cheap. Outputs of megabytes are not parsed to see whether it is */
function evaluateHere(expression: ParsedExpression, { steps, ...values }: StoredValues): Evaluated | undefined {
  if (Object.values(steps).reduce((sum, { bytes }) => sum + bytes, 0) > cheapWork) return undefined;
  const given = { ...values, steps: valuesOfOutputs(steps) };
  const { source, kind, variables } = expression;
  return isProvedCheap(expression, given) ? perform({ source, kind, variables, values: given }) : undefined;
}

/**
 * Evaluates an expression: in this process when it is proved cheap, else in a process of the pool.
 * @param given the values of what it names; others may be absent
 * @returns undefined for a result that is larger than an output may be
 * @throws ExpressionError also for one that exceeds a limit; WorkQueueFull while too much of the organization's is being
 *   evaluated
 */
export async function evaluateExpression(
  work: BoundedWork,
  tenantKey: TenantKey,
  expression: ParsedExpression,
  given: StoredValues,
): Promise<Storable | undefined> {
  const values = valuesNamed(expression, given);
  const evaluated = evaluateHere(expression, values);
  if (evaluated) return outputOf(evaluated);
  let answer: Buffer;
  try {
    answer = await work.runAsBytes(task, tenantKey, taskArguments(expression, values));
  } catch (error) {
    if (error instanceof WorkTooCostly) throw new ExpressionError(`The expression is too costly: ${error.message}`);
    throw error;
  }
  // Its output may be large: the work pauses for others between its parts.
  await yieldToEventLoop();
  return outputIn(answer);
}

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
