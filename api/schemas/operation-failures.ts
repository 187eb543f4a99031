import { actionFailed, authExpired, providerRateLimited } from '../../src/integrations/errors.ts';
import { AppError, invalid } from '../../src/platform/errors.ts';
import { callFailed, refused } from '../../src/voice/errors.ts';
import { behindKey, type HeaderName } from './headers.ts';

export const exampleId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';

/** How the reference describes a failure. */
export interface Failure {
  name: string;
  description: string;
  example: AppError;
  always?: readonly HeaderName[];
  sometimes?: readonly HeaderName[];
  /** Whether dialect B answers some of them in its envelope for refused access, and the example is another. */
  isOftenAccess?: boolean;
}

// Failures of a few operations each, where the general ones say too little.

export const runFailed: Failure = {
  name: 'RunFailed',
  description:
    'The run failed, or something went wrong on our side. Of a run that failed `details` says why: {runId, stepId, code, message}.',
  example: new AppError('ai_provider_error', 'The provider refused the request.', {
    runId: exampleId,
    stepId: 'summarize',
    code: 'service_unavailable',
    message: 'The provider refused the request.',
  }),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
};

export const generationFailed: Failure = {
  name: 'GenerationFailed',
  description:
    'The generation failed, or something went wrong on our side. Of a generation that failed `details` says why: {generationId, reason}, reason one of content_policy, invalid_input, provider_error, timeout. Where our own storage failed the answer is 503 `service_unavailable`. Nothing is charged.',
  example: new AppError('ai_provider_error', 'The provider refused the content.', {
    generationId: `gen_${exampleId.replaceAll('-', '')}`,
    reason: 'content_policy',
  }),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
};

export const replyFailed: Failure = {
  name: 'ReplyFailed',
  description:
    'The model or its provider failed, or something went wrong on our side. Nothing is charged, even if tools were called.',
  example: new AppError('ai_provider_error', 'The provider refused the content.'),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
};

export const voiceFailed: Failure = {
  name: 'Silent',
  description: 'The provider failed, or something went wrong on our side. Nothing is charged.',
  example: callFailed(),
  sometimes: [...behindKey, 'Idempotent-Replayed'],
};

export const voiceRefused: Failure = {
  name: 'Refused',
  description: 'The request is not valid. The sentence is one of those that the operation lists.',
  example: refused('Invalid voice'),
  sometimes: behindKey,
};

export const imageRefused: Failure = {
  name: 'ImageRefused',
  description:
    'The request is not valid, or its image cannot be fetched or worked on. Nothing is charged, and the Idempotency-Key can be used again.',
  example: invalid([{ path: 'imageUrl', message: 'The server of the image answered 404.' }]),
  sometimes: behindKey,
};

export const bookingClash: Failure = {
  name: 'BookingClash',
  description: [
    'The time clashes with what is booked now; it may be free later. `slot_unavailable`: it is taken; `buffer_conflict`: it is',
    'too close to another booking; `rate_limit_exceeded`: a limit on bookings is reached. `details` says how.',
  ].join(' '),
  example: new AppError(
    'conflict',
    'The time is taken.',
    {
      start: '2030-06-12T09:00:00.000Z',
      end: '2030-06-12T09:30:00.000Z',
      reason: 'booked',
      conflictsUntil: '2030-06-12T09:30:00.000Z',
    },
    { code: 'slot_unavailable' },
  ),
  always: behindKey,
};

export const bookingRefused: Failure = {
  name: 'BookingRefused',
  description: [
    'The rules never allow the time: `notice_too_short`, `too_far_advance`, `blackout_period` or `outside_availability`, with',
    '`details {start, end, reason}`. Or the Idempotency-Key was used with another body.',
  ].join(' '),
  example: new AppError(
    'unprocessable',
    'The time is outside the hours of the host.',
    { start: '2030-06-12T03:00:00.000Z', end: '2030-06-12T03:30:00.000Z', reason: 'closed' },
    { code: 'outside_availability' },
  ),
  always: behindKey,
};

export const integrationRefused: Failure = {
  name: 'IntegrationRefused',
  description:
    'The credentials are missing, invalid, expired or revoked. Or `auth_expired`: the provider no longer accepts our access, and the integration must be connected again; without `WWW-Authenticate`.',
  example: authExpired('slack'),
  sometimes: ['WWW-Authenticate', ...behindKey],
  isOftenAccess: true,
};

export const integrationLimited: Failure = {
  name: 'IntegrationLimited',
  description:
    "A limit of the organization's plan is reached, or too many authentications from the caller's address have failed. Or `rate_limited`: the provider asks to wait.",
  example: providerRateLimited('slack', 30),
  always: ['Retry-After'],
  sometimes: behindKey,
  isOftenAccess: true,
};

export const actionNotDone: Failure = {
  name: 'ActionFailed',
  description: [
    'The provider did not perform the action, or its answer was lost: `details` has `integrationId`, `actionId`, `outcome` and,',
    'if the provider gave one, `providerCode`. With the outcome `unknown` the provider may have performed the action. It is not',
    'repeated, and its Idempotency-Key stays used.',
  ].join(' '),
  example: actionFailed({
    integrationId: 'slack',
    actionId: 'send_message',
    providerCode: 'is_archived',
    outcome: 'failed',
  }),
  always: behindKey,
  sometimes: ['Idempotent-Replayed'],
};

/** All of them. */
export const ofOperations = [
  runFailed,
  generationFailed,
  replyFailed,
  voiceFailed,
  voiceRefused,
  imageRefused,
  bookingClash,
  bookingRefused,
  integrationRefused,
  integrationLimited,
  actionNotDone,
];
