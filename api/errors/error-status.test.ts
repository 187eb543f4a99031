import { expect, test } from '@jest/globals';
import { AppError, type ErrorKind, errorKinds } from '../../src/platform/errors.ts';
import { catalog } from '../../src/services.ts';
import { variants } from '../dialects/variants.ts';
import { e1, e2, e3, statusOf } from '../envelopes.ts';

const published: Record<string, [status: number, inB: string]> = {
  validation_error: [400, 'VALIDATION_ERROR'],
  workflow_inactive: [400, 'workflow_disabled'],
  expression_error: [400, 'EXPRESSION_ERROR'],
  unauthorized: [401, 'invalid_api_key'],
  insufficient_credits: [402, 'INSUFFICIENT_CREDITS'],
  forbidden: [403, 'FORBIDDEN'],
  not_found: [404, 'RESOURCE_NOT_FOUND'],
  workflow_not_found: [404, 'RESOURCE_NOT_FOUND'],
  run_not_found: [404, 'RESOURCE_NOT_FOUND'],
  method_not_allowed: [405, 'METHOD_NOT_ALLOWED'],
  conflict: [409, 'CONFLICT'],
  idempotency_in_progress: [409, 'IDEMPOTENCY_IN_PROGRESS'],
  payload_too_large: [413, 'PAYLOAD_TOO_LARGE'],
  unsupported_media_type: [415, 'UNSUPPORTED_MEDIA_TYPE'],
  range_not_satisfiable: [416, 'RANGE_NOT_SATISFIABLE'],
  slot_unavailable: [409, 'SLOT_UNAVAILABLE'],
  buffer_conflict: [409, 'BUFFER_CONFLICT'],
  booking_limit_reached: [409, 'RATE_LIMITED'],
  idempotency_key_reused: [422, 'IDEMPOTENCY_KEY_REUSED'],
  unprocessable: [422, 'UNPROCESSABLE'],
  notice_too_short: [422, 'NOTICE_TOO_SHORT'],
  too_far_advance: [422, 'TOO_FAR_ADVANCE'],
  blackout_period: [422, 'BLACKOUT_PERIOD'],
  outside_availability: [422, 'OUTSIDE_AVAILABILITY'],
  rate_limit_exceeded: [429, 'RATE_LIMITED'],
  auth_expired: [401, 'AUTH_EXPIRED'],
  rate_limited: [429, 'RATE_LIMITED'],
  action_failed: [502, 'ACTION_FAILED'],
  integration_not_found: [404, 'INTEGRATION_NOT_FOUND'],
  not_connected: [409, 'NOT_CONNECTED'],
  invalid_payload: [400, 'INVALID_PAYLOAD'],
  ai_provider_error: [500, 'AI_PROVIDER_ERROR'],
  internal_error: [500, 'INTERNAL_ERROR'],
  service_unavailable: [503, 'SERVICE_UNAVAILABLE'],
  provider_not_configured: [503, 'PROVIDER_NOT_CONFIGURED'],
};

const codes: [code: string, kind: ErrorKind][] = [
  ...errorKinds.map((kind): [string, ErrorKind] => [kind, kind]),
  ...Object.entries(catalog.errors),
];
const errorOf = ([code, kind]: [string, ErrorKind]) => new AppError(kind, 'x', { reason: 'invalid_api_key' }, { code });

test('every code has its published status and its name in both dialects', () => {
  const actual = codes.map((one) => {
    const error = errorOf(one);
    expect(variants.A.errorCode(error)).toBe(one[0] === 'booking_limit_reached' ? 'rate_limit_exceeded' : one[0]);
    return [one[0], [statusOf(error), variants.B.errorCode(error)]];
  });
  expect(Object.fromEntries(actual)).toEqual(published);
});

test('dialect B wraps refused access in E3, and everything else in E1', () => {
  const inE3 = codes.filter((one) => variants.B.envelope(errorOf(one)) === e3).map(([code]) => code);
  expect(inE3).toEqual(['unauthorized', 'forbidden', 'rate_limit_exceeded']);
  expect(codes.every((one) => variants.A.envelope(errorOf(one)) === e1)).toBe(true);
});

test('the envelopes have their published shapes', () => {
  const error = new AppError('rate_limit_exceeded', 'Slow down.', { limit: 1 }, { retryAfter: 3 });
  const rendering = { requestId: 'id', code: 'RATE_LIMITED', facts: error.facts };
  expect(e1(error, rendering)).toEqual({
    success: false,
    error: { code: 'RATE_LIMITED', message: 'Slow down.', details: { limit: 1 }, requestId: 'id' },
  });
  expect(e2(error, rendering)).toEqual({ success: false, error: 'Slow down.' });
  expect(e3(error, rendering)).toEqual({ error: { code: 'RATE_LIMITED', message: 'Slow down.', retryAfter: 3 } });
});
