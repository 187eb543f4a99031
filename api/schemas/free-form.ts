import { z } from '@hono/zod-openapi';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object with any members, kept as sent. A record schema would drop a member called `__proto__`. */
export const freeForm = z
  .custom<Record<string, unknown>>(isRecord, 'Expected an object.')
  .openapi({ type: 'object', additionalProperties: {} });

/** An object whose members are all strings. */
export const texts = z
  .custom<Record<string, string>>(isRecord, 'Expected an object.')
  .superRefine((record, context) => {
    for (const [name, value] of Object.entries<unknown>(record)) {
      if (typeof value !== 'string') context.addIssue({ code: 'custom', path: [name], message: 'Expected a string.' });
    }
  })
  .openapi({ type: 'object', additionalProperties: { type: 'string' } });
