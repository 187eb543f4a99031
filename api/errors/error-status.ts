import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ErrorKind } from '../../src/platform/errors.ts';

/** The HTTP status of each kind of failure: the only such table. Its type makes it exhaustive. */
export const errorStatus: Record<ErrorKind, ContentfulStatusCode> = {
  validation_error: 400,
  unauthorized: 401,
  insufficient_credits: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  idempotency_in_progress: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  unprocessable: 422,
  rate_limit_exceeded: 429,
  auth_expired: 401,
  rate_limited: 429,
  action_failed: 502,
  ai_provider_error: 500,
  internal_error: 500,
  service_unavailable: 503,
  provider_not_configured: 503,
};
