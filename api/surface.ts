import type { HttpBindings } from '@hono/node-server';
import { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { SealError } from '../src/platform/crypto.ts';
import { databaseFailure } from '../src/platform/database-errors.ts';
import { AppError, invalid, unavailable } from '../src/platform/errors.ts';
import type { Log } from '../src/platform/log.ts';
import type { Scope } from '../src/platform/scope.ts';
import type { Caller } from '../src/tenancy/caller.ts';
import { chooseDialect } from './dialects/choose-dialect.ts';
import type { Dialect } from './dialects/dialect.ts';
import { type Envelope, statusOf } from './envelopes.ts';
import { issueMessage } from './issue-messages.ts';

/** What middleware leaves for handlers. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    correlationId: string;
    clientAddress: string;
    log: Log;
    dialect: Dialect;
    /** The JSON body as it was sent, where a route has one. */
    body: unknown;
    caller: Caller;
    scope: Scope;
  };
}

export type ApiContext = Context<ApiEnv>;

/** A failure that nobody expected becomes one that says nothing of its cause. */
function expected(error: Error, log: Log): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof HTTPException) {
    if (error.status === 415) return new AppError('unsupported_media_type', 'Send the body as application/json.');
    if (error.status === 413) return new AppError('payload_too_large', 'The body is too large.');
    if (error.status === 400) return invalid([{ path: '', message: 'The body is not valid JSON.' }]);
  }
  if (error instanceof SealError && (error.reason === 'no_keys' || error.reason === 'unknown_key')) {
    log.error({ err: error }, 'secrets cannot be kept or read');
    return unavailable('The keeping of secrets');
  }
  const failure = databaseFailure(error);
  if (failure) {
    log.warn({ err: error }, 'the database failed a request');
    return failure;
  }
  log.error({ err: error }, 'a request failed unexpectedly');
  return new AppError('internal_error', 'Something went wrong on our side.');
}

/** Answers a failure in this envelope and in the request's dialect, where there are dialects. */
export function renderError(c: ApiContext, error: Error, envelope: Envelope, dialects: boolean): Response {
  const failure = expected(error, c.get('log'));
  const dialect = dialects ? (c.get('dialect') ?? chooseDialect({ path: c.req.path })) : undefined;
  const facts = failure.facts && (dialect?.facts(failure.facts) ?? failure.facts);
  const rendering = { requestId: c.get('requestId'), code: dialect?.errorCode(failure) ?? failure.code, facts };
  if (failure.retryAfter !== undefined) c.header('Retry-After', String(failure.retryAfter));
  if (failure.code === 'unauthorized') c.header('WWW-Authenticate', 'Bearer');
  return c.json((dialect?.envelope(failure) ?? envelope)(failure, rendering), statusOf(failure));
}

z.config({ customError: issueMessage });

/** A body of 1 MiB can be wrong in a hundred thousand places; nobody reads the answer to that. */
const mostErrorsTold = 100;

/** What a schema found wrong with a request. */
export function invalidRequest({ issues }: z.ZodError): AppError {
  return invalid(
    issues.slice(0, mostErrorsTold).map(({ path, message }) => ({ path: path.map(String).join('.'), message })),
  );
}

/**
 * A part of the API: what does not fit a schema is a failure as any other. How failures are answered is said once, where
 * the parts are put together; a part that said it too would wrap every handler, at a cost.
 */
export const surface = (): OpenAPIHono<ApiEnv> =>
  new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error);
    },
  });
