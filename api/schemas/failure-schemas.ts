import { z } from '@hono/zod-openapi';
import { AppError, errorKinds } from '../../src/platform/errors.ts';
import { catalog } from '../../src/services.ts';
import { variants } from '../dialects/variants.ts';

const requestIdSchema = z.uuid().openapi({ description: 'The id of this request, as in the header X-Request-ID.' });

/** In dialect A. */
const publishedCodes = [
  ...new Set(
    [...errorKinds.map((kind) => [kind, kind] as const), ...Object.entries(catalog.errors)].map(([code, kind]) =>
      variants.A.errorCode(new AppError(kind, '', {}, { code })),
    ),
  ),
].sort();

/** The schemas of the three envelopes of failures. */
export const failureSchemas = {
  Error: z.object({
    success: z.literal(false),
    error: z.object({
      code: z.string().openapi({
        description: `One of ${publishedCodes.join(', ')}. Dialect B writes codes in upper case and has some of its own.`,
      }),
      message: z.string().openapi({ description: 'An explanation for people. The wording may change.' }),
      details: z.record(z.string(), z.unknown()).optional().openapi({
        description: 'Facts for programs. For an invalid request, `errors` is a list of {path, message}.',
      }),
      hint: z.string().optional(),
      requestId: requestIdSchema,
    }),
  }),
  Sentence: z.object({
    success: z.literal(false),
    error: z.string().openapi({ description: 'What is wrong, for people. The status tells programs.' }),
  }),
  AccessError: z
    .object({ error: z.object({ code: z.string(), message: z.string(), retryAfter: z.int().optional() }) })
    .openapi({
      description:
        'Used in dialect B for 401, 403 and 429, recognized by the lack of `success`. `retryAfter` is in seconds.',
    }),
};
