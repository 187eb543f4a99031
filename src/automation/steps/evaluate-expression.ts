import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { evaluateExpression as task } from '../bounded/bounded-tasks.ts';
import { type Evaluated, perform } from '../bounded/evaluate-expression.ts';
import { cheapWork, ExpressionError, isProvedCheap, type ParsedExpression } from '../core/expression.ts';
import type { StoredValues } from './step-context.ts';
import { valuesOfOutputs } from './step-outputs.ts';
import { type Storable, storable, storableJson } from './storable.ts';

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
const outputBegins = '{"output":';

/** The output in the answer of the process, which is not parsed. @throws ExpressionError */
const outputIn = (answer: string): Storable | undefined =>
  answer.startsWith(outputBegins)
    ? storableJson(answer.slice(outputBegins.length, -'}'.length))
    : outputOf(JSON.parse(answer) as Evaluated);

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
  let answer: string;
  try {
    answer = await work.runAsText(task, tenantKey, taskArguments(expression, values));
  } catch (error) {
    if (error instanceof WorkTooCostly) throw new ExpressionError(`The expression is too costly: ${error.message}`);
    throw error;
  }
  // Its output may be large: the work pauses for others between its parts.
  await yieldToEventLoop();
  return outputIn(answer);
}
