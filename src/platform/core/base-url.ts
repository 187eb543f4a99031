import { withoutEnd } from './without-end.ts';

/** An address of the environment without a slash at its end. */
export const withoutSlash = (url: string): string => withoutEnd(url, '/');
