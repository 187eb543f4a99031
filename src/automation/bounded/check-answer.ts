// Runs in a process of the pool.
import { mismatch } from './compiled-schemas.ts';

/** @returns how a model's answer does not match its schema; null when it does */
export const perform = ({ schema, answer }: { schema: Record<string, unknown>; answer: string }): string | null =>
  mismatch(schema, JSON.parse(answer));
