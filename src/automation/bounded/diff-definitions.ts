// Runs in a process of the pool.
import { createPatch, type Operation } from 'rfc6902';
import { isLargerThan } from '../../platform/core/json-size.ts';

/** Bytes of the operations as JSON: each has the whole path, in which names may be long. */
const maxBytes = 1024 * 1024;

/** @returns the operations of RFC 6902 that turn one value into the other; null where they are too large */
export function perform({ from, to }: { from: unknown; to: unknown }): Operation[] | null {
  const operations = createPatch(from, to);
  return isLargerThan(operations, maxBytes) ? null : operations;
}
