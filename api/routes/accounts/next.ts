import { ownPath } from '../../../src/accounts/core/next-path.ts';
import { consolePath } from '../../../src/accounts/core/paths.ts';
import type { ApiContext } from '../../context.ts';

/** Where a person goes after signing in: to `next`, if it is a path of our own, else to the console. */
export const nextOf = (c: ApiContext): string => ownPath(c.req.query('next')) ?? consolePath;

/** A page of ours that remembers it. */
export const withNext = (path: string, next: string): string =>
  next === consolePath ? path : `${path}?next=${encodeURIComponent(next)}`;
