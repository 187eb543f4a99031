import { z } from '@hono/zod-openapi';

/**
 * An object that is counted before its members are checked, for the reason that `countedList` has. A record schema would drop a
 * member called `__proto__`: it is refused.
 */
export const countedRecord = <Record extends z.ZodType>(record: Record, max: number) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null) return value;
    const isTooLarge = Object.keys(value).length > max;
    if (!isTooLarge && !Object.hasOwn(value, '__proto__')) return value;
    if (isTooLarge) context.addIssue({ code: 'custom', message: `Expected at most ${max} members.` });
    else context.addIssue({ code: 'custom', path: ['__proto__'], message: 'No member can have this name here.' });
    return z.NEVER;
  }, record);
