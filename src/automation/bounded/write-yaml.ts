// Runs in a process of the pool.
import { stringify } from 'yaml';

/** Each line of a list of lists has the spaces of its depth, so that a megabyte of JSON may be fifty of YAML. */
const maxCharacters = 2 * 1024 * 1024;

/** @returns null where it would be too long */
export function perform(value: unknown): string | null {
  const text = stringify(value, { version: '1.2', aliasDuplicateObjects: false });
  return text.length > maxCharacters ? null : text;
}
