import { z } from '@hono/zod-openapi';

/** A string of limited length, counted in characters and not in UTF-16 units: 100 emoji are 100 characters. */
export const text = (maximum: number) =>
  z
    .string()
    .refine((value) => [...value].length <= maximum, `Expected at most ${maximum} characters.`)
    .openapi({ type: 'string', maxLength: maximum });

/** Text of which at least one character is no white space. */
export const filledText = (maximum: number, problem = 'Expected at least one character that is not a space.') =>
  text(maximum)
    .refine((value) => value.trim() !== '', problem)
    .openapi({ type: 'string', minLength: 1, maxLength: maximum, pattern: '\\S' });

/** The name of a resource. */
export const nameText = filledText(100);
