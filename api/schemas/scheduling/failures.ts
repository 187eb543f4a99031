import { AppError } from '../../../src/platform/errors.ts';
import { surfaces } from '../failures.ts';
import { behindKey } from '../headers.ts';

/** The 409 and 422 of an operation that books a time. */
export const bookingFailures = {
  409: surfaces.versioned.response({
    name: 'BookingConflictError',
    description: [
      'The time is not free now, but may become free. `slot_unavailable`: it is occupied; `buffer_conflict`: it is too close to',
      'another booking; `rate_limit_exceeded`: a limit on bookings is reached. `details` has the facts.',
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
  }),
  422: surfaces.versioned.response({
    name: 'BookingRuleError',
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
  }),
};
