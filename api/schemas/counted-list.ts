import { z } from '@hono/zod-openapi';

/**
 * A list that is counted before its items are checked: a library that checks items first makes an issue of each wrong one,
 * and a body has room for 330,000 empty objects.
 */
export const countedList = <List extends z.ZodType>(list: List, max: number) =>
  z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    context.addIssue({ code: 'custom', message: `Expected at most ${max} elements.` });
    return z.NEVER;
  }, list);
