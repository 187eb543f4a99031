// Runs in a process of the pool.
import { schemaProblem } from './compiled-schemas.ts';

/** @returns what is wrong with a schema, in words for its author; null when nothing is */
export const perform = (schema: Record<string, unknown>): string | null => schemaProblem(schema);
