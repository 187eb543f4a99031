import { z } from '@hono/zod-openapi';
import { AppError, type ErrorCodes, errorKinds } from '../../src/platform/errors.ts';
import { variants } from '../dialects/variants.ts';

const requestIdSchema = z.uuid().openapi({ description: 'The id of this request, as in the header X-Request-ID.' });

/** In dialect A. */
const publishedCodes = (errors: ErrorCodes) =>
  [
    ...new Set(
      [...errorKinds.map((kind) => [kind, kind] as const), ...Object.entries(errors)].map(([code, kind]) =>
        variants.A.errorCode(new AppError(kind, '', {}, { code })),
      ),
    ),
  ].sort();

/** The schemas of the three envelopes of failures. @param errors the codes of all features */
export const failureSchemas = (errors: ErrorCodes) => ({
  ErrorResponse: z.object({
    success: z.literal(false),
    error: z.object({
      code: z.string().openapi({
        description: `One of ${publishedCodes(errors).join(', ')}. Dialect B writes codes in upper case and has some of its own.`,
      }),
      message: z.string().openapi({ description: 'An explanation for people. The wording may change.' }),
      details: z.record(z.string(), z.unknown()).optional().openapi({
        description: 'Facts for programs. For an invalid request, `errors` is a list of {path, message}.',
      }),
      hint: z.string().optional(),
      requestId: requestIdSchema,
    }),
  }),
  ErrorMessage: z.object({
    success: z.literal(false),
    error: z.string().openapi({ description: 'What is wrong, for people. Programs use the status.' }),
  }),
  AccessError: z
    .object({ error: z.object({ code: z.string(), message: z.string(), retryAfter: z.int().optional() }) })
    .openapi({
      description:
        'Used in dialect B for 401, 403 and 429, recognized by the lack of `success`. `retryAfter` is in seconds.',
    }),
});
