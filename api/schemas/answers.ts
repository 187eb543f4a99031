import { z } from '@hono/zod-openapi';

export const requestIdSchema = z
  .uuid()
  .openapi({ description: 'Identifies this request; equals the header X-Request-ID.' });

const E1 = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z.string(),
      message: z.string(),
      details: z.record(z.string(), z.unknown()).optional(),
      hint: z.string().optional(),
      requestId: requestIdSchema,
    }),
  })
  .openapi('Error');

const E3 = z
  .object({ error: z.object({ code: z.string(), message: z.string(), retryAfter: z.number().optional() }) })
  .openapi('AccessError', { description: 'Dialect B, for 401, 403 and 429.' });

const descriptions = {
  400: 'The request is not valid.',
  401: 'The key is missing, invalid, expired or revoked.',
  403: 'The key may not do this.',
  404: 'There is no such resource.',
  409: 'A request with the same Idempotency-Key is in progress.',
  413: 'The body is too large.',
  415: 'The body is not application/json.',
  422: 'The Idempotency-Key was used with another body.',
  500: 'The run failed, or something went wrong on our side.',
  503: 'Something that is needed is not available, or not configured.',
} as const;

export type ErrorStatus = keyof typeof descriptions;

const json = <Schema extends z.ZodType>(schema: Schema) => ({ 'application/json': { schema } });

const idHeaders = z.object({
  'X-Request-ID': z.uuid().openapi({ description: 'Identifies this request.' }),
  'x-correlation-id': z.string().openapi({ description: 'Stable across the retries of one operation.' }),
});

/** A success of this shape, in the envelope `{success, data}`. */
export const answer = <Schema extends z.ZodType>(description: string, data: Schema) => ({
  description,
  headers: idHeaders,
  content: json(z.object({ success: z.literal(true), data })),
});

/** A success without envelope. */
export const plainAnswer = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  headers: idHeaders,
  content: json(schema),
});

/** The failures that a route of the versioned API can answer, beside those that every such route can. */
export function failures<Status extends ErrorStatus>(...statuses: Status[]) {
  const entry = (status: ErrorStatus) => ({
    description: descriptions[status],
    headers: idHeaders,
    content: json(status === 401 || status === 403 ? z.union([E1, E3]) : E1),
  });
  const all = [...statuses, 400, 401, 403, 500] as (Status | 400 | 401 | 403 | 500)[];
  return Object.fromEntries(all.map((status) => [status, entry(status)])) as Record<
    (typeof all)[number],
    ReturnType<typeof entry>
  >;
}
