import { AppError, invalid, rateLimited, unavailable } from '../../src/platform/errors.ts';
import { requestWindows } from '../../src/tenancy/core/rate-windows.ts';
import { unauthorized } from '../../src/tenancy/refusals.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { variants } from '../dialects/variants.ts';
import { type Envelope, e1, e2 } from '../envelopes.ts';
import { behindKey, type HeaderName, headersOf, onAll } from './headers.ts';

const maxBytes = 1024 * 1024;

export const exampleId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';

/** How the reference describes a failure. */
export interface Failure {
  /** The name of its component; for a failure that any operation may have, after the prefix of the surface. */
  name: string;
  description: string;
  example: AppError;
  always?: readonly HeaderName[];
  sometimes?: readonly HeaderName[];
  /** Whether dialect B answers some of them in its envelope for refused access, and the example is another. */
  isOftenAccess?: boolean;
}

// Failures after the key was recognized carry its rate limit headers.
const failures = {
  400: {
    name: 'ValidationError',
    description: 'The request is not valid.',
    example: invalid([{ path: 'steps.0.type', message: 'Expected a step type.' }]),
    sometimes: behindKey,
  },
  401: {
    name: 'UnauthorizedError',
    description: 'The credentials are missing, invalid, expired or revoked.',
    example: unauthorized('invalid_api_key'),
    always: ['WWW-Authenticate'],
  },
  402: {
    name: 'InsufficientCreditsError',
    description: 'The operation costs more credits than are available. Nothing was done.',
    example: new AppError('insufficient_credits', 'This costs 5 credits, and 2 are available.', {
      required: 5,
      available: 2,
    }),
    always: behindKey,
  },
  403: {
    name: 'ForbiddenError',
    description:
      'The key or the plan does not permit this operation, tokens of browsers do not reach it, or the token is not accepted from this origin.',
    example: new AppError('forbidden', 'The key lacks the scope workflows:write.', { required: 'workflows:write' }),
    sometimes: behindKey,
  },
  404: {
    name: 'NotFoundError',
    description: 'The resource does not exist, or belongs to another organization.',
    example: new AppError(
      'not_found',
      'No workflow has this id.',
      { workflowId: exampleId },
      { code: 'workflow_not_found' },
    ),
    always: behindKey,
  },
  409: {
    name: 'ConflictError',
    description:
      'The request conflicts with the current state, or a request with the same Idempotency-Key is in progress.',
    example: new AppError('conflict', 'The run has not ended.'),
    always: behindKey,
  },
  413: {
    name: 'PayloadTooLargeError',
    description: 'The body is too large.',
    example: new AppError('payload_too_large', `The body is larger than ${maxBytes} bytes.`, { maxBytes }),
    always: behindKey,
  },
  415: {
    name: 'UnsupportedMediaTypeError',
    description: 'The body is not application/json in UTF-8, or has a Content-Encoding.',
    example: new AppError('unsupported_media_type', 'Send the body as application/json.'),
    always: behindKey,
  },
  422: {
    name: 'IdempotencyKeyReusedError',
    description: 'The Idempotency-Key was used with another body.',
    example: new AppError('idempotency_key_reused', 'This Idempotency-Key was used with another body.'),
    always: behindKey,
  },
  429: {
    name: 'RateLimitError',
    description:
      "A limit of the organization's plan is reached, or too many authentications from the caller's address have failed.",
    example: rateLimited({ window: requestWindows.minute, limit: 600, resetAt: 1_780_272_000, retryAfter: 12 }),
    always: ['Retry-After'],
    sometimes: behindKey,
  },
  500: {
    name: 'InternalError',
    description: 'Something went wrong on our side.',
    example: new AppError('internal_error', 'Something went wrong on our side.'),
    sometimes: behindKey,
  },
  503: {
    name: 'ServiceUnavailableError',
    description: 'A dependency is unavailable, or the provider is not configured.',
    example: unavailable('The database'),
    sometimes: [...behindKey, 'Retry-After'],
  },
} satisfies Record<number, Failure>;

export type ErrorStatus = keyof typeof failures;

/** The failure of routes for the operator, which need the secret of the installation and not a key. */
const withoutSecret = new AppError('unauthorized', 'Send the secret of the installation as a bearer token.');

const requestId = '5f0c9d1e-5d3b-4c55-9a43-0f3a2b1c4d5e';

/** The example as the API renders it in this dialect. */
function exampleIn(dialect: Dialect, failure: AppError) {
  const facts = failure.facts && dialect.facts(failure.facts);
  return dialect.envelope(failure)(failure, { requestId, code: dialect.errorCode(failure), facts });
}

/** How failures are answered at some paths. */
interface SurfaceShape {
  /** Begins the names of the components of failures that any operation may have. */
  prefix: string;
  /** Whether its operations need a key. */
  isKeyed: boolean;
  hasDialects: boolean;
  /** The name of the schema of a failure. */
  schema: string;
  envelope: Envelope;
}

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function component(
  { description, example, always = [], sometimes = [], isOftenAccess }: Failure,
  { isKeyed, hasDialects, schema, envelope }: SurfaceShape,
) {
  const isSent = (name: HeaderName) => isKeyed || !behindKey.includes(name);
  const shown = !isKeyed && example.code === 'unauthorized' ? withoutSecret : example;
  const inA = exampleIn(variants.A, example);
  const inB = exampleIn(variants.B, example);
  const eitherEnvelope = { anyOf: [reference('ErrorResponse'), reference('AccessError')] };
  const content = hasDialects
    ? {
        schema: 'success' in inB && !isOftenAccess ? reference('ErrorResponse') : eitherEnvelope,
        examples: { A: { summary: 'Dialect A', value: inA }, B: { summary: 'Dialect B', value: inB } },
      }
    : {
        schema: reference(schema),
        example: envelope(shown, { requestId, code: shown.code, facts: shown.facts }),
      };
  return {
    description,
    headers: headersOf(
      [...onAll, ...always.filter(isSent)],
      [...sometimes.filter(isSent), ...(hasDialects ? (['X-API-Deprecated'] as const) : [])],
    ),
    content: { 'application/json': content },
  };
}

type Component = ReturnType<typeof component>;

const components = new Map<string, Component>();

/** The components that `FailureSurface.response` refers to, by name. */
export const failureComponents = (): Record<string, Component> => Object.fromEntries(components);

/** The failures of the operations that answer in one way. */
export class FailureSurface {
  readonly #shape: SurfaceShape;

  constructor(shape: SurfaceShape) {
    this.#shape = shape;
  }

  /** Declares a failure of operations. @returns the reference to its component, for the responses of a route */
  response(failure: Failure, name = failure.name) {
    if (!components.has(name)) components.set(name, component(failure, this.#shape));
    return { $ref: `#/components/responses/${name}` };
  }

  /** The failure that any operation may have with this status. */
  general(status: ErrorStatus) {
    const failure = failures[status];
    return this.response(failure, `${this.#shape.prefix}${failure.name}`);
  }
}

/** The versioned API with its dialects; other routes with a key; chat, whose failures are only a message; and routes without a key. */
export const surfaces = {
  versioned: new FailureSurface({
    prefix: '',
    isKeyed: true,
    hasDialects: true,
    schema: 'ErrorResponse',
    envelope: e1,
  }),
  unversioned: new FailureSurface({
    prefix: 'Unversioned',
    isKeyed: true,
    hasDialects: false,
    schema: 'ErrorResponse',
    envelope: e1,
  }),
  chat: new FailureSurface({
    prefix: 'Chat',
    isKeyed: true,
    hasDialects: false,
    schema: 'ErrorMessage',
    envelope: e2,
  }),
  public: new FailureSurface({
    prefix: 'Public',
    isKeyed: false,
    hasDialects: false,
    schema: 'ErrorResponse',
    envelope: e1,
  }),
} as const;

const withoutKey: SurfaceShape = {
  prefix: '',
  isKeyed: false,
  hasDialects: false,
  schema: 'ErrorResponse',
  envelope: e1,
};

/** A failure of one operation without keys, where the general one says too little. */
export const ownFailure = (description: string, example: AppError) =>
  component({ name: '', description, example }, withoutKey);
