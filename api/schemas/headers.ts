/** A header as OpenAPI describes it. */
interface HeaderDescription {
  required: boolean;
  description: string;
  schema: { type: 'string' | 'integer'; format?: string; enum?: string[] };
  example: string | number;
}

const header = (description: string, schema: HeaderDescription['schema'], example: string | number) => ({
  required: true,
  description,
  schema,
  example,
});

const text = { type: 'string' } as const;
const integer = { type: 'integer' } as const;

const descriptions = {
  'X-Request-ID': header(
    'The id of this request. `error.requestId` is the same.',
    { type: 'string', format: 'uuid' },
    '5f0c9d1e-5d3b-4c55-9a43-0f3a2b1c4d5e',
  ),
  'x-correlation-id': header(
    'The correlation id that the request sent, or a new UUID. It appears in runs, deliveries and logs.',
    text,
    'order-4711',
  ),
  'X-RateLimit-Limit': header('The limit of the rate window with the fewest requests left.', integer, 600),
  'X-RateLimit-Remaining': header('The number of requests left in that window.', integer, 599),
  'X-RateLimit-Reset': header('When that window resets, in Unix seconds.', integer, 1_780_272_000),
  'Cache-Control': header('The answer must not be cached.', { type: 'string', enum: ['no-store'] }, 'no-store'),
  'Retry-After': header('Seconds to wait before retrying.', integer, 12),
  'WWW-Authenticate': header('How to authenticate.', { type: 'string', enum: ['Bearer'] }, 'Bearer'),
  'Idempotent-Replayed': header(
    'Present when this is the answer to an earlier request with the same Idempotency-Key.',
    { type: 'string', enum: ['true'] },
    'true',
  ),
  'X-Credits-Used': header('The credits that were charged.', integer, 1),
  'Content-Disposition': header(
    'The name under which browsers save the file.',
    text,
    'attachment; filename="speech.mp3"',
  ),
  'X-Accel-Buffering': header('Prevents proxies from buffering the stream.', { type: 'string', enum: ['no'] }, 'no'),
  'X-API-Deprecated': header(
    'Present when the operation is deprecated: the earliest day of its removal.',
    { type: 'string', format: 'date' },
    '2027-12-01',
  ),
} satisfies Record<string, HeaderDescription>;

export type HeaderName = keyof typeof descriptions;

const names = Object.keys(descriptions) as HeaderName[];
/** `X-Request-ID` is `RequestID`, `x-correlation-id` is `CorrelationId`. */
const componentName = (name: HeaderName, prefix: string) =>
  prefix + name.replace(/^x-/i, '').replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The headers that responses refer to, each as a required and as an optional one. */
export const headerComponents: Record<string, HeaderDescription> = Object.fromEntries(
  names.flatMap((name) => [
    [componentName(name, ''), descriptions[name]],
    [componentName(name, 'Optional'), { ...descriptions[name], required: false }],
  ]),
);

const references = (of: readonly HeaderName[], prefix: string) =>
  Object.fromEntries(of.map((name) => [name, { $ref: `#/components/headers/${componentName(name, prefix)}` }]));

/** The headers of a response: required and optional ones. */
export const headersOf = (always: readonly HeaderName[], sometimes: readonly HeaderName[] = []) => ({
  ...references(always, ''),
  ...references(sometimes, 'Optional'),
});

export const onAll: readonly HeaderName[] = ['X-Request-ID', 'x-correlation-id'];
/** Sent once the key was recognized. */
export const behindKey: readonly HeaderName[] = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Cache-Control',
];
