import { HTTPException } from 'hono/http-exception';
import { WorkQueueFull } from '../../src/platform/bounded-work/task.ts';
import { databaseFailure } from '../../src/platform/database/database-errors.ts';
import { AppError, invalid, unavailable } from '../../src/platform/errors.ts';
import { SealError } from '../../src/platform/security/crypto.ts';
import { closeAfterAnswer, dropAnswerHeaders, limitHeaders, setAnswerHeaders } from '../answer-headers.ts';
import type { ApiContext } from '../context.ts';
import { chooseDialect } from '../dialects/choose-dialect.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { statusOf } from '../envelopes.ts';
import { requestLog } from '../requests/request-log.ts';
import type { Surface } from '../surface.ts';

/** The failure in the answer. An unexpected error is logged, and its answer does not reveal the cause. */
export function failureOf(c: ApiContext, error: Error): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof HTTPException) {
    if (error.status === 415) return new AppError('unsupported_media_type', 'Send the body as application/json.');
    if (error.status === 413) return new AppError('payload_too_large', 'The body is too large.');
    if (error.status === 400) return invalid([{ path: '', message: 'The body is not valid JSON.' }]);
  }
  if (error instanceof SealError && (error.reason === 'no_keys' || error.reason === 'unknown_key')) {
    requestLog(c).error({ err: error }, 'secrets cannot be encrypted or decrypted');
    return unavailable('The storage of secrets');
  }
  if (error instanceof WorkQueueFull) {
    requestLog(c).warn({ err: error }, 'a request failed because the processes for costly work are busy');
    return unavailable('The processor time for this request');
  }
  const failure = databaseFailure(error);
  if (failure) {
    requestLog(c).warn({ err: error }, 'a request failed because of the database');
    return failure;
  }
  requestLog(c).error({ err: error }, 'a request failed unexpectedly');
  return new AppError('internal_error', 'Something went wrong on our side.');
}

/** The data of its request that the rendering of a failure needs. */
interface FailedRequest {
  surface: Surface;
  /** Ignored where the surface has no dialects. */
  dialect: Dialect;
  requestId: string;
}

/** The answer to a failure, in the envelope of the request's surface, and in its dialect where the surface has dialects. */
export function answerTo(failure: AppError, { surface, requestId, ...request }: FailedRequest) {
  const { envelope, hasDialects } = surface;
  const dialect = hasDialects ? request.dialect : undefined;
  const facts = failure.facts && (dialect?.facts(failure.facts) ?? failure.facts);
  const rendering = { requestId, code: dialect?.errorCode(failure) ?? failure.code, facts };
  const headers: Record<string, string> = {};
  if (failure.retryAfter !== undefined) headers['Retry-After'] = String(failure.retryAfter);
  if (failure.code === 'unauthorized') headers['WWW-Authenticate'] = 'Bearer';
  return { status: statusOf(failure), headers, body: (dialect?.envelope(failure) ?? envelope)(failure, rendering) };
}

/** Answers a failure. */
export function renderError(c: ApiContext, error: Error): Response {
  const failure = failureOf(c, error);
  // A refusal before authentication, such as that of an address over its limit, has no dialect yet.
  const dialect = c.get('dialect') ?? chooseDialect({ header: c.req.header('x-api-variant'), path: c.req.path });
  const answer = answerTo(failure, { surface: c.get('surface'), dialect, requestId: c.get('requestId') });
  setAnswerHeaders(c, answer.headers);
  if (failure.kind === 'payload_too_large') closeAfterAnswer(c);
  // A key can end while its request waits.
  if (failure.code === 'unauthorized') dropAnswerHeaders(c, limitHeaders);
  return c.json(answer.body, answer.status);
}
