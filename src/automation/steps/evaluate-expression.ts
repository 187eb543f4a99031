import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { evaluateExpression as task } from '../bounded/bounded-tasks.ts';
import { type Evaluated, perform } from '../bounded/evaluate-expression.ts';
import { ExpressionError, type ExpressionValues, isProvedCheap, type ParsedExpression } from '../core/expression.ts';

/** Nothing of what an expression does not mention has to be looked at, or sent to another process. */
function valuesNamed({ names }: ParsedExpression, given: ExpressionValues): ExpressionValues {
  const { scope, variables = {}, steps = {} } = given;
  return {
    input: names.has('input') ? given.input : null,
    variables: names.has('variables') ? variables : {},
    steps: names.has('steps') ? steps : {},
    ...(scope && { scope: { ...scope, item: names.has('item') ? scope.item : null } }),
    ...(names.has('event') && { event: given.event }),
  };
}

/**
 * Evaluates an expression: in this process when it is proved cheap, else in a process of the pool.
 * @param given the values of what it names; others may be absent
 * @throws ExpressionError also for one that exceeds a limit; WorkQueueFull while too much of the organization's is being
 *   evaluated
 */
export async function evaluateExpression(
  work: BoundedWork,
  tenantKey: TenantKey,
  expression: ParsedExpression,
  given: ExpressionValues,
): Promise<unknown> {
  const { source, kind, variables } = expression;
  const values = valuesNamed(expression, given);
  const evaluation = { source, kind, variables, values };
  let evaluated: Evaluated;
  if (isProvedCheap(expression, values)) evaluated = perform(evaluation);
  else {
    try {
      evaluated = await work.run(task, tenantKey, evaluation);
    } catch (error) {
      if (error instanceof WorkTooCostly) throw new ExpressionError(`The expression is too costly: ${error.message}`);
      throw error;
    }
    // Its output may be large: the work pauses for others between its parts.
    await yieldToEventLoop();
  }
  if ('problem' in evaluated) throw new ExpressionError(evaluated.problem);
  return evaluated.output;
}
