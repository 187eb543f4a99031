// The body of a new booking, as steps of workflows take it for their payload. The endpoint's schema has the same rules.
import { z } from 'zod';
import { isLargerThan } from '../platform/core/json-size.ts';
import { isOneLine } from '../platform/core/one-line.ts';
import { findTimezone } from '../platform/core/timezone.ts';
import type { NewBooking } from './bookings/check-booking.ts';
import { readInstant } from './core/read-times.ts';

const maxAttachedBytes = 16 * 1024;

/** An object of the caller's own. */
export const isAttachable = (value: unknown): boolean =>
  !isLargerThan(value, maxAttachedBytes) && Buffer.byteLength(JSON.stringify(value)) <= maxAttachedBytes;

const line = (maximum: number) =>
  z
    .string()
    .refine((text) => [...text].length <= maximum, `Expected at most ${maximum} characters.`)
    .refine(isOneLine, 'Expected no control characters.');
const filledLine = (maximum: number) =>
  line(maximum).refine((text) => text.trim() !== '', 'Expected at least one character that is not a space.');
const attached = z.record(z.string(), z.unknown()).refine(isAttachable, 'Expected at most 16 KiB as JSON.').optional();

export const bookingBody = z.object({
  eventTypeId: z.string(),
  start: z
    .string()
    .refine(
      (text) => readInstant(text) !== undefined,
      'Expected a time in whole minutes with its offset, such as 2026-11-21T09:30:00Z.',
    ),
  attendee: z.object({
    name: filledLine(200),
    email: z.email('Expected an e-mail address.').max(254),
    phone: line(40).optional(),
    timezone: z
      .string()
      .refine(
        (name) => name.length <= 64 && findTimezone(name) !== undefined,
        'Expected a zone of the tz database, such as Europe/Berlin.',
      )
      .optional(),
  }),
  responses: attached,
  metadata: attached,
  location: z.object({ type: z.string().min(1).max(40) }).optional(),
});

type BookingBody = z.output<typeof bookingBody>;

/** A body, with its defaults filled in. */
export function readBooking({ attendee, responses = {}, metadata = {}, location, ...given }: BookingBody): NewBooking {
  const { phone = null, timezone = 'UTC', ...named } = attendee;
  return { ...given, attendee: { ...named, phone, timezone }, responses, metadata, location: location?.type };
}
