import type { z } from '@hono/zod-openapi';
import { shortened } from '../../../src/platform/core/shortened.ts';
import { type FieldError, invalid, listed } from '../../../src/platform/errors.ts';
import type { ApiContext } from '../../context.ts';

type Issue = z.core.$ZodIssue;

/**
 * The problem. A value that matches none of several schemas is described by the deepest fault, because that schema fits
 * best.
 */
function* faultsOf(issue: Issue, above: PropertyKey[] = []): Generator<{ path: PropertyKey[]; message: string }> {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys') yield { path: [...path, issue.keys[0]!], message: 'This is not supported.' };
  else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const faults = issue.errors.flatMap((branch) => branch.slice(0, 1).flatMap((one) => [...faultsOf(one, path)]));
    yield faults.toSorted((one, other) => other.path.length - one.path.length)[0]!;
  } else yield { path, message: issue.message };
}

const problemOf = ({ path, message }: { path: PropertyKey[]; message: string }): FieldError => ({
  path: path.map((name) => shortened(String(name), 100)).join('.'),
  message: shortened(message, 1_000),
});

/**
 * Reads a value that may have only the members of its schema: unsupported members are refused, never ignored.
 * @throws AppError validation_error, whose first error names the parameter
 */
export function readStrictly<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = listed(result.error.issues).flatMap((issue) => [...faultsOf(issue)]);
  throw invalid(faults.map(problemOf));
}

/** The same for the JSON body of a request. */
export const readBody = <Schema extends z.ZodType>(c: ApiContext, schema: Schema): z.output<Schema> =>
  readStrictly(schema, c.get('body'));
