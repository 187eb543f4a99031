import type { Environment } from '../session/session.ts';

/** In the address of every page; `test` is left out. */
export interface RootSearch {
  env?: Environment;
}

/**
 * Filters of lists are in the address, under the names of the API's parameters: only strings, and none that is empty.
 */
export type Filters = Record<string, string | undefined>;

/** @returns what an address has besides its path */
export const filters = (search: Record<string, unknown>): Filters & RootSearch =>
  Object.fromEntries(
    Object.entries(search)
      .filter(([, value]) => value !== undefined && value !== '' && typeof value !== 'object')
      .map(([name, value]) => [name, String(value)]),
  );
