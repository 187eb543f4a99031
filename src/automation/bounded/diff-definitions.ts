// Runs in a process of the pool.
import { createPatch, type Operation } from 'rfc6902';

/** @returns the operations of RFC 6902 that turn one value into the other */
export const perform = ({ from, to }: { from: unknown; to: unknown }): Operation[] => createPatch(from, to);
