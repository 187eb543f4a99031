import { AppError, type ErrorCodes } from '../platform/errors.ts';

/**
 * The reason why a time cannot be booked. 422: the rules never allow it. 409: it conflicts with an existing booking,
 * and may be free later. `booking_limit_reached` is published as `rate_limit_exceeded`.
 */
export const schedulingErrors = {
  notice_too_short: 'unprocessable',
  too_far_advance: 'unprocessable',
  blackout_period: 'unprocessable',
  outside_availability: 'unprocessable',
  slot_unavailable: 'conflict',
  buffer_conflict: 'conflict',
  booking_limit_reached: 'conflict',
} as const satisfies ErrorCodes;

// Each takes the id as the caller wrote it.
export const eventTypeNotFound = (eventTypeId: string) =>
  new AppError('not_found', 'No event type has this id.', { eventTypeId });
export const bookingNotFound = (bookingId: string) =>
  new AppError('not_found', 'No booking has this id.', { bookingId });
export const hostNotFound = (hostId: string) => new AppError('not_found', 'No host has this id.', { hostId });
export const patternNotFound = (patternId: string) =>
  new AppError('not_found', 'No recurring pattern has this id.', { patternId });
export const calendarNotFound = (calendarId: string) =>
  new AppError('not_found', 'No calendar has this id.', { calendarId });
export const blackoutNotFound = (blackoutId: string) =>
  new AppError('not_found', 'No blackout period has this id.', { blackoutId });
