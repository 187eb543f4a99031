import { workflowNotFound } from '../../src/automation/errors.ts';
import { AppError, invalid, rateLimited, unavailable } from '../../src/platform/errors.ts';
import { unauthorized } from '../../src/tenancy/authenticate.ts';
import { requestWindows } from '../../src/tenancy/core/rate-windows.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { variants } from '../dialects/variants.ts';
import { e1, e2, e2OfVoice } from '../envelopes.ts';
import { behindKey, type HeaderName, headersOf, onAll } from './headers.ts';
import {
  actionNotDone,
  bookingClash,
  bookingRefused,
  exampleId,
  type Failure,
  generationFailed,
  imageRefused,
  integrationLimited,
  integrationRefused,
  ofOperations,
  replyFailed,
  runFailed,
  voiceFailed,
  voiceRefused,
} from './operation-failures.ts';

const maxBytes = 1024 * 1024;

// Failures after the key was recognized carry its rate limit headers.
const failures = {
  400: {
    name: 'Invalid',
    description: 'The request is not valid.',
    example: invalid([{ path: 'steps.0.type', message: 'Expected a step type.' }]),
    sometimes: behindKey,
  },
  401: {
    name: 'Unauthorized',
    description: 'The credentials are missing, invalid, expired or revoked.',
    example: unauthorized('invalid_api_key'),
    always: ['WWW-Authenticate'],
  },
  402: {
    name: 'InsufficientCredits',
    description: 'The operation costs more credits than are available. Nothing was done.',
    example: new AppError('insufficient_credits', 'This costs 5 credits, and 2 are available.', {
      required: 5,
      available: 2,
    }),
    always: behindKey,
  },
  403: {
    name: 'Forbidden',
    description: 'The key or the plan does not permit this operation.',
    example: new AppError('forbidden', 'The key lacks the scope workflows:write.', { required: 'workflows:write' }),
    always: behindKey,
  },
  404: {
    name: 'NotFound',
    description: 'The resource does not exist, or belongs to another organization.',
    example: workflowNotFound(exampleId),
    always: behindKey,
  },
  409: {
    name: 'Conflict',
    description:
      'The request conflicts with the current state, or a request with the same Idempotency-Key is in progress.',
    example: new AppError('conflict', 'The run has not ended.'),
    always: behindKey,
  },
  413: {
    name: 'TooLarge',
    description: 'The body is too large.',
    example: new AppError('payload_too_large', `The body is larger than ${maxBytes} bytes.`, { maxBytes }),
    always: behindKey,
  },
  415: {
    name: 'UnsupportedType',
    description: 'The body is not application/json in UTF-8, or has a Content-Encoding.',
    example: new AppError('unsupported_media_type', 'Send the body as application/json.'),
    always: behindKey,
  },
  422: {
    name: 'KeyReused',
    description: 'The Idempotency-Key was used with another body.',
    example: new AppError('idempotency_key_reused', 'This Idempotency-Key was used with another body.'),
    always: behindKey,
  },
  429: {
    name: 'TooMany',
    description:
      "A limit of the organization's plan is reached, or too many authentications from the caller's address have failed.",
    example: rateLimited({ window: requestWindows.minute, limit: 600, resetAt: 1_780_272_000, retryAfter: 12 }),
    always: ['Retry-After'],
    sometimes: behindKey,
  },
  500: {
    name: 'Failed',
    description: 'Something went wrong on our side.',
    example: new AppError('internal_error', 'Something went wrong on our side.'),
    sometimes: behindKey,
  },
  503: {
    name: 'Unavailable',
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

/**
 * Where failures are answered: in the versioned API with its dialects, on other routes with a key, on those that tell nothing
 * but a sentence, and without a key.
 */
const surfaces = {
  versioned: { prefix: '', isKeyed: true, hasDialects: true, schema: 'Error', envelope: e1 },
  keyed: { prefix: 'Plain', isKeyed: true, hasDialects: false, schema: 'Error', envelope: e1 },
  spoken: { prefix: 'Spoken', isKeyed: true, hasDialects: false, schema: 'Sentence', envelope: e2 },
  voice: { prefix: 'Voice', isKeyed: true, hasDialects: false, schema: 'Sentence', envelope: e2OfVoice },
  open: { prefix: 'Open', isKeyed: false, hasDialects: false, schema: 'Error', envelope: e1 },
} as const;

export type FailureSurface = keyof typeof surfaces;

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function component(
  { description, example, always = [], sometimes = [], isOftenAccess }: Failure,
  surface: FailureSurface,
) {
  const { isKeyed, hasDialects, schema, envelope } = surfaces[surface];
  const isSent = (name: HeaderName) => isKeyed || !behindKey.includes(name);
  const shown = !isKeyed && example.code === 'unauthorized' ? withoutSecret : example;
  const inA = exampleIn(variants.A, example);
  const inB = exampleIn(variants.B, example);
  const eitherEnvelope = { anyOf: [reference('Error'), reference('AccessError')] };
  const content = hasDialects
    ? {
        schema: 'success' in inB && !isOftenAccess ? reference('Error') : eitherEnvelope,
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

/** A failure of one operation without keys, where the general one says too little. */
export const ownFailure = (description: string, example: AppError) =>
  component({ name: '', description, example }, 'open');

const named = (failure: Failure, surface: FailureSurface) => `${surfaces[surface].prefix}${failure.name}`;

/** The components that `failureReference` refers to. */
export const failureComponents = Object.fromEntries(
  (Object.keys(surfaces) as FailureSurface[]).flatMap((surface) =>
    [...Object.values(failures), ...ofOperations].map((failure) => [
      named(failure, surface),
      component(failure, surface),
    ]),
  ),
);

const responseReference = (name: string) => ({ $ref: `#/components/responses/${name}` });

export const failureReference = (status: ErrorStatus, surface: FailureSurface) =>
  responseReference(named(failures[status], surface));

/** The 500 of an operation that waits for a run. */
export const runFailure = responseReference(named(runFailed, 'versioned'));

/** The 500 of an operation that waits for a generation. */
export const generationFailure = responseReference(named(generationFailed, 'keyed'));

/** The 500 of an operation that a model replies to. */
export const replyFailure = responseReference(named(replyFailed, 'spoken'));

/** The 400 and 500 of an operation of voice. */
export const voiceFailures = {
  400: responseReference(named(voiceRefused, 'voice')),
  500: responseReference(named(voiceFailed, 'voice')),
};

/** The 400 of an operation that works on an image. */
export const imageFailure = responseReference(named(imageRefused, 'keyed'));

/** The 401 and 429 of an operation that asks the provider of an integration. */
export const integrationFailures = {
  401: responseReference(named(integrationRefused, 'versioned')),
  429: responseReference(named(integrationLimited, 'versioned')),
};

/** The 502 of an action of an integration. */
export const actionFailure = responseReference(named(actionNotDone, 'versioned'));

/** The 409 and 422 of an operation that books a time. */
export const bookingFailures = {
  409: responseReference(named(bookingClash, 'versioned')),
  422: responseReference(named(bookingRefused, 'versioned')),
};
