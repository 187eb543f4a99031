import { AppError } from '../../platform/errors.ts';
import { type Refusal, type RefusalCode, refusalDetails } from '../core/refusals.ts';
import { schedulingErrors } from '../errors.ts';

const messages: Record<RefusalCode, string> = {
  notice_too_short: 'The time is in the past, or too soon.',
  too_far_advance: 'The time is too far ahead.',
  blackout_period: 'The time is in a blackout period.',
  outside_availability: 'The time is not open.',
  slot_unavailable: 'The time is taken.',
  buffer_conflict: 'The time is too close to another booking.',
  booking_limit_reached: 'A limit on bookings is reached.',
};

/** The failure that tells a caller why a time cannot be booked. */
export const refused = (refusal: Refusal): AppError =>
  new AppError(schedulingErrors[refusal.code], messages[refusal.code], refusalDetails(refusal), {
    code: refusal.code,
  });
