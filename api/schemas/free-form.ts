import { z } from '@hono/zod-openapi';
import { isJsonObject } from '../../src/platform/core/json-shapes.ts';

/** An object with any members, kept as sent. A record schema would drop a member called `__proto__`. */
export const freeForm = z
  .custom<Record<string, unknown>>(isJsonObject, 'Expected an object.')
  .openapi({ type: 'object', additionalProperties: {} });

/** Maximum reported members that are not strings: as many as an answer lists. An object may have tens of thousands. */
const maxReported = 100;

/** An object whose members are all strings. */
export const texts = z
  .custom<Record<string, string>>(isJsonObject, 'Expected an object.')
  .superRefine((record, context) => {
    let reported = 0;
    for (const name of Object.keys(record)) {
      if (typeof record[name] === 'string') continue;
      context.addIssue({ code: 'custom', path: [name], message: 'Expected a string.' });
      if (++reported === maxReported) break;
    }
  })
  .openapi({ type: 'object', additionalProperties: { type: 'string' } });
