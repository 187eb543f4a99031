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
  429: 'Too many requests; Retry-After says how many seconds to wait.',
  500: 'The run failed, or something went wrong on our side.',
  503: 'Something that is needed is not available, or not configured.',
} as const;

export type ErrorStatus = keyof typeof descriptions;

const json = <Schema extends z.ZodType>(schema: Schema) => ({ 'application/json': { schema } });

const answerHeaders = z.object({
  'X-Request-ID': z.uuid().openapi({ description: 'Identifies this request.' }),
  'x-correlation-id': z.string().openapi({ description: 'Stable across the retries of one operation.' }),
  'X-RateLimit-Limit': z.string().optional().openapi({ description: 'Requests that fit into the tighter window.' }),
  'X-RateLimit-Remaining': z.string().optional().openapi({ description: 'Requests left in it.' }),
  'X-RateLimit-Reset': z.string().optional().openapi({ description: 'When it begins anew, in Unix seconds.' }),
  'Retry-After': z.string().optional().openapi({ description: 'Seconds to wait, with 429 and 503.' }),
});

/** A success of this shape, in the envelope `{success, data}`. */
export const answer = <Schema extends z.ZodType>(description: string, data: Schema) => ({
  description,
  headers: answerHeaders,
  content: json(z.object({ success: z.literal(true), data })),
});

/** A success that goes on until there is nothing left to say. */
export const streamAnswer = (description: string) => ({
  description,
  headers: answerHeaders,
  content: { 'text/event-stream': { schema: z.string() } },
});

/** A success without envelope. */
export const plainAnswer = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  headers: answerHeaders,
  content: json(schema),
});

/** A success that has nothing to say. */
export const emptyAnswer = (description: string) => ({ description, headers: answerHeaders });

/** What every route behind a key can answer. */
const always = [400, 401, 403, 429, 500, 503] as const;
const inEitherEnvelope: readonly ErrorStatus[] = [401, 403, 429];

/** The failures that a route of the versioned API can answer, beside those that every such route can. */
export function failures<Status extends ErrorStatus>(...statuses: Status[]) {
  const entry = (status: ErrorStatus) => ({
    description: descriptions[status],
    headers: answerHeaders,
    content: json(inEitherEnvelope.includes(status) ? z.union([E1, E3]) : E1),
  });
  const all = [...statuses, ...always];
  return Object.fromEntries(all.map((status) => [status, entry(status)])) as Record<
    (typeof all)[number],
    ReturnType<typeof entry>
  >;
}

/** The failures of a route that has no key to refuse. */
export function openFailures<Status extends ErrorStatus>(...statuses: Status[]) {
  const entry = (status: ErrorStatus) => ({
    description: descriptions[status],
    headers: answerHeaders,
    content: json(E1),
  });
  const all = [...statuses, 429, 500] as const;
  return Object.fromEntries(all.map((status) => [status, entry(status)])) as Record<
    (typeof all)[number],
    ReturnType<typeof entry>
  >;
}
