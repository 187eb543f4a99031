// Runs in a process of the pool: what an instance costs is decided by a tenant's schema.
import type { JsonSchema } from '../ports.ts';
import { instanceOf } from './instance.ts';

/** @returns JSON of the instance */
export const perform = ({ schema, text }: { schema: JsonSchema; text: string }): string =>
  JSON.stringify(instanceOf(schema, text));
