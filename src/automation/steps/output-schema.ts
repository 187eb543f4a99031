import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { JsonRefused, parseJson } from '../../platform/core/bounded-json.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import type { JsonSchema } from '../../providers/index.ts';
import * as tasks from '../bounded/bounded-tasks.ts';
import { findSchemaExcess } from '../core/schema-limits.ts';

/** The largest answer that is checked against a schema, in bytes. */
export const maxAnswerBytes = 256 * 1024;

/** The model call is already paid for, so its check waits long for a free process instead of failing. */
const answerWaitMs = 60_000;

/** Why a schema cannot be used, in words for its author; undefined when it can. @throws WorkQueueFull */
export async function findSchemaProblem(
  work: Pick<BoundedWork, 'run'>,
  tenantKey: TenantKey,
  schema: JsonSchema,
): Promise<string | undefined> {
  const excess = findSchemaExcess(schema, Buffer.byteLength(JSON.stringify(schema)));
  if (excess) return excess;
  try {
    return (await work.run(tasks.checkSchema, tenantKey, schema)) ?? undefined;
  } catch (error) {
    if (error instanceof WorkTooCostly) return `The schema is too costly: ${error.message}`;
    throw error;
  }
}

/** `isFinal`: a corrected answer cannot help. */
type CheckedAnswer = { value: unknown } | { problem: string; isFinal?: true };

/** Parses a model's answer as JSON and checks it against the schema. @throws WorkQueueFull */
export async function checkAnswer(
  work: BoundedWork,
  tenantKey: TenantKey,
  schema: JsonSchema,
  answer: string,
): Promise<CheckedAnswer> {
  let value: unknown;
  try {
    value = parseJson(answer, maxAnswerBytes);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    if (error.reason === 'malformed') return { problem: 'it is not JSON' };
    if (error.reason !== 'too_large') return { problem: `it ${error.fault}` };
    return { problem: `it is longer than ${maxAnswerBytes} bytes`, isFinal: true };
  }
  try {
    const problem = await work.run(tasks.checkAnswer, tenantKey, { schema, answer }, { waitMs: answerWaitMs });
    return problem === null ? { value } : { problem };
  } catch (error) {
    if (error instanceof WorkTooCostly) return { problem: `checking it was given up. ${error.message}`, isFinal: true };
    throw error;
  }
}
