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
    'Identifies this request; `error.requestId` is the same.',
    { type: 'string', format: 'uuid' },
    '5f0c9d1e-5d3b-4c55-9a43-0f3a2b1c4d5e',
  ),
  'x-correlation-id': header(
    'What the request called its operation, or a fresh uuid. It follows the work into runs, deliveries and logs.',
    text,
    'order-4711',
  ),
  'X-RateLimit-Limit': header('Requests that fit into the window with fewer requests left.', integer, 600),
  'X-RateLimit-Remaining': header('Requests left in that window.', integer, 599),
  'X-RateLimit-Reset': header('When that window begins anew, in Unix seconds.', integer, 1_780_272_000),
  'Cache-Control': header('No cache may keep the answer.', { type: 'string', enum: ['no-store'] }, 'no-store'),
  'Retry-After': header('Seconds after which it is worth trying again.', integer, 12),
  'WWW-Authenticate': header('How to send what is missing.', { type: 'string', enum: ['Bearer'] }, 'Bearer'),
  'Idempotent-Replayed': header(
    'With the answer to an earlier request that had the same Idempotency-Key.',
    { type: 'string', enum: ['true'] },
    'true',
  ),
  'X-Accel-Buffering': header(
    'Tells proxies to hand on each event as it comes.',
    { type: 'string', enum: ['no'] },
    'no',
  ),
  'X-API-Deprecated': header(
    'With every answer of an operation that will go: the day from which it may be gone.',
    { type: 'string', format: 'date' },
    '2027-12-01',
  ),
} satisfies Record<string, HeaderDescription>;

export type HeaderName = keyof typeof descriptions;

const names = Object.keys(descriptions) as HeaderName[];
const componentName = (name: string, sent: string) => `${name.replace(/^X-|-/gi, '')}${sent}`;

/** What responses refer to: each header as one that is always there, and as one that may be. */
export const headerComponents: Record<string, HeaderDescription> = Object.fromEntries(
  names.flatMap((name) => [
    [componentName(name, ''), descriptions[name]],
    [componentName(name, 'Sometimes'), { ...descriptions[name], required: false }],
  ]),
);

const references = (of: readonly HeaderName[], sent: string) =>
  Object.fromEntries(of.map((name) => [name, { $ref: `#/components/headers/${componentName(name, sent)}` }]));

/** The headers of a response: those that it always has and those that it may have. */
export const headersOf = (always: readonly HeaderName[], sometimes: readonly HeaderName[] = []) => ({
  ...references(always, ''),
  ...references(sometimes, 'Sometimes'),
});

export const onAll: readonly HeaderName[] = ['X-Request-ID', 'x-correlation-id'];
/** From when the key is known. */
export const behindKey: readonly HeaderName[] = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Cache-Control',
];
