import { HTTPException } from 'hono/http-exception';
import { SealError } from '../src/platform/crypto.ts';
import { databaseFailure } from '../src/platform/database-errors.ts';
import { AppError, invalid, unavailable } from '../src/platform/errors.ts';
import type { Log } from '../src/platform/log.ts';
import type { ApiContext } from './context.ts';
import { chooseDialect } from './dialects/choose-dialect.ts';
import { statusOf } from './envelopes.ts';

/** The failure to answer. An unexpected error is logged, and its answer says nothing about the cause. */
function failureOf(error: Error, log: Log): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof HTTPException) {
    if (error.status === 415) return new AppError('unsupported_media_type', 'Send the body as application/json.');
    if (error.status === 413) return new AppError('payload_too_large', 'The body is too large.');
    if (error.status === 400) return invalid([{ path: '', message: 'The body is not valid JSON.' }]);
  }
  if (error instanceof SealError && (error.reason === 'no_keys' || error.reason === 'unknown_key')) {
    log.error({ err: error }, 'secrets cannot be encrypted or decrypted');
    return unavailable('The storage of secrets');
  }
  const failure = databaseFailure(error);
  if (failure) {
    log.warn({ err: error }, 'a request failed because of the database');
    return failure;
  }
  log.error({ err: error }, 'a request failed unexpectedly');
  return new AppError('internal_error', 'Something went wrong on our side.');
}

/** Answers a failure in the envelope of the request's surface, and in its dialect where the surface has dialects. */
export function renderError(c: ApiContext, error: Error): Response {
  const { envelope, hasDialects } = c.get('surface');
  const failure = failureOf(error, c.get('log'));
  const dialect = hasDialects ? (c.get('dialect') ?? chooseDialect({ path: c.req.path })) : undefined;
  const facts = failure.facts && (dialect?.facts(failure.facts) ?? failure.facts);
  const rendering = { requestId: c.get('requestId'), code: dialect?.errorCode(failure) ?? failure.code, facts };
  if (failure.retryAfter !== undefined) c.header('Retry-After', String(failure.retryAfter));
  if (failure.code === 'unauthorized') c.header('WWW-Authenticate', 'Bearer');
  return c.json((dialect?.envelope(failure) ?? envelope)(failure, rendering), statusOf(failure));
}
