import { z } from '@hono/zod-openapi';

/** An object that is counted before its members are checked, for the reason that `countedList` has. */
export const countedRecord = <Record extends z.ZodType>(record: Record, max: number) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= max) return value;
    context.addIssue({ code: 'custom', message: `Expected at most ${max} members.` });
    return z.NEVER;
  }, record);
