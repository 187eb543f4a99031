import { z } from '@hono/zod-openapi';

/** A string of limited length, counted in characters and not in UTF-16 units: 100 emoji are 100 characters. */
export const text = (maximum: number) =>
  z
    .string()
    .refine((value) => [...value].length <= maximum, `Expected at most ${maximum} characters.`)
    .openapi({ type: 'string', maxLength: maximum });

/** The name of a resource. */
export const nameText = text(100)
  .refine((value) => value.trim() !== '', 'Expected at least one character that is not a space.')
  .openapi({ type: 'string', minLength: 1, maxLength: 100 });
