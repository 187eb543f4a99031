// Runs in a process of the pool.
import { parse } from 'yaml';
import { isLargerThan } from '../../platform/core/json-size.ts';

/** Expansions of aliases in one document. */
const maxAliases = 100;
/** Bytes of what a document is as JSON. */
const maxBytes = 1024 * 1024;

export type ReadYaml = { json: string } | { problem: string };

/** Reads a YAML document of plain JSON values. */
export function perform(text: string): ReadYaml {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: maxAliases, schema: 'core', version: '1.2', merge: false });
  } catch (error) {
    const [first = ''] = String((error as Error).message).split('\n');
    return { problem: `The body is not valid YAML: ${first.slice(0, 200)}` };
  }
  if (isLargerThan(value, maxBytes)) return { problem: `The body is larger than ${maxBytes} bytes as JSON.` };
  return { json: JSON.stringify(value ?? null) };
}
