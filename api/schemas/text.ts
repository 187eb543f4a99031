import { z } from '@hono/zod-openapi';
import { isOneLine } from '../../src/platform/core/one-line.ts';

/** A string of limited length, counted in characters and not in UTF-16 units: 100 emoji are 100 characters. */
export const text = (maximum: number) =>
  z
    .string()
    .refine((value) => [...value].length <= maximum, `Expected at most ${maximum} characters.`)
    .openapi({ type: 'string', maxLength: maximum });

/** Text with at least one character that is not white space. */
export const filledText = (maximum: number, problem = 'Expected at least one character that is not a space.') =>
  text(maximum)
    .refine((value) => value.trim() !== '', problem)
    .openapi({ type: 'string', minLength: 1, maxLength: maximum, pattern: '\\S' });

const controlProblem = 'Expected no control characters.';
const lineRule =
  'Without control characters, those of writing direction (U+202A to U+202E, U+2066 to U+2069) included, and line separators.';

/** Text that mails and calendar entries show on a line of their own, which no control character may end. */
export const lineText = (maximum: number) =>
  text(maximum)
    .refine(isOneLine, controlProblem)
    .openapi({ type: 'string', maxLength: maximum, description: lineRule });

/** The same, with at least one character that is not white space. */
export const filledLine = (maximum: number) =>
  filledText(maximum)
    .refine(isOneLine, controlProblem)
    .openapi({ type: 'string', minLength: 1, maxLength: maximum, description: lineRule });

/** The name of a resource. */
export const nameText = filledText(100);
