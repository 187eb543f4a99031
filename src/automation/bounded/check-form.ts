// Runs in a process of the pool.
import { mismatches } from './compiled-schemas.ts';

/** @returns how the values of an answer do not match the form of their approval, with paths in the answer */
export const perform = ({ schema, values }: { schema: Record<string, unknown>; values: Record<string, unknown> }) =>
  mismatches(schema, values).map(({ path, message }) => ({ path: ['values', ...path].join('.'), message }));
