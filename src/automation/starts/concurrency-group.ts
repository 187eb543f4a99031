import { createHash } from 'node:crypto';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { AppError, unavailable } from '../../platform/errors.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { evaluateExpression } from '../bounded/bounded-tasks.ts';
import { perform } from '../bounded/evaluate-expression.ts';
import { ExpressionError, isProvedCheap, parseExpression } from '../core/expression.ts';
import { type Concurrency, maxKeyLength } from '../core/starts.ts';

const keyProblem = (message: string) =>
  new AppError(
    'validation_error',
    `The concurrency key cannot be used: ${message}`,
    { errors: [{ path: 'concurrency.key', message }] },
    { code: 'expression_error' },
  );

/** The values for the expression of a key. */
interface KeyValues {
  input: unknown;
  variables: Record<string, unknown>;
}

async function evaluateKey(
  work: BoundedWork,
  tenantKey: TenantKey,
  source: string,
  { input = null, variables }: KeyValues,
): Promise<unknown> {
  const expression = parseExpression(source, 'transform');
  const values = { input, variables, steps: {} };
  const evaluation = { source, kind: 'transform' as const, values };
  const evaluated = isProvedCheap(expression, values)
    ? perform(evaluation)
    : await work.run(evaluateExpression, tenantKey, evaluation);
  if ('problem' in evaluated) throw new ExpressionError(evaluated.problem);
  return evaluated.output;
}

/** The id of the runs of a workflow that share a limit: the same for the same key, in every process. */
function groupOf(automationId: string, key: string): string {
  const digest = createHash('sha256').update(`${automationId} ${key}`).digest('hex');
  // A UUID of version 8 (RFC 9562) has values of our own.
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`];
  return [...parts, digest.slice(20, 32)].join('-');
}

/**
 * The concurrency group of a run that is to start.
 * @throws AppError validation_error with the path concurrency.key when the key fails or is no text of 1 to 200 characters:
 *   runs never share a limit by accident; service_unavailable while too much of the organization's is being evaluated
 */
export async function findGroup(
  work: BoundedWork,
  tenantKey: TenantKey,
  automationId: string,
  { key }: Concurrency,
  values: KeyValues,
): Promise<string> {
  if (key === undefined) return groupOf(automationId, '');
  let value: unknown;
  try {
    value = await evaluateKey(work, tenantKey, key, values);
  } catch (error) {
    if (error instanceof WorkQueueFull) throw unavailable('Starting runs');
    if (error instanceof ExpressionError || error instanceof WorkTooCostly) throw keyProblem(error.message);
    throw error;
  }
  if (typeof value !== 'string' || value === '' || value.length > maxKeyLength) {
    throw keyProblem(`Expected a text of 1 to ${maxKeyLength} characters.`);
  }
  return groupOf(automationId, `key ${value}`);
}
