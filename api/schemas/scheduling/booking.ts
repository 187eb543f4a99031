import { z } from '@hono/zod-openapi';
import { describeStates } from '../../../src/platform/core/states.ts';
import { isAttachable } from '../../../src/scheduling/bookings/booking-input.ts';
import { bookingStates, bookingStatuses, listedStatuses } from '../../../src/scheduling/core/booking-status.ts';
import { effectStates, effectStatuses } from '../../../src/scheduling/core/effect-status.ts';
import { effectTypes } from '../../../src/scheduling/core/effects.ts';
import { freeForm } from '../free-form.ts';
import { prefixedIdInPath } from '../ids.ts';
import { inDialect, orNull } from '../in-dialect.ts';
import { flatPage, pageQuery, paginationSchema } from '../pagination.ts';
import { filledLine, filledText, lineText, text } from '../text.ts';
import { email } from './host.ts';
import { bookingId, date, instant, timezone } from './values.ts';

export const bookingInPath = prefixedIdInPath('id', bookingId);

/** An object of the caller's own. */
const attached = (what: string) =>
  freeForm
    .refine(isAttachable, 'Expected at most 16 KiB as JSON.')
    .openapi({ type: 'object', additionalProperties: {}, description: `${what} At most 16 KiB as JSON.` });

const attendee = z
  .object({
    name: filledLine(200),
    email,
    phone: lineText(40).optional(),
    timezone: timezone.optional().openapi({ description: 'Default UTC.' }),
  })
  .openapi('NewAttendee');

export const newBookingSchema = z
  .object({
    eventTypeId: z.string(),
    start: instant,
    attendee,
    responses: attached('Answers to the questions, by their labels, of the types of the questions.').optional(),
    metadata: attached('Any value. It is returned unchanged.').optional(),
    location: z
      .object({ type: filledText(40) })
      .optional()
      .openapi({ description: 'A location that the event type offers. Default: its first one.' }),
  })
  .openapi('NewBooking');

export const dryRunQuery = z.object({
  dryRun: z
    .enum(['true', 'false'], 'Expected true or false.')
    .optional()
    .openapi({
      param: { name: 'dryRun', in: 'query' },
      description: 'With `true` every check is made and nothing is booked. `Idempotency-Key` is then ignored.',
    }),
});

const bookedLocation = z.object({ type: z.string(), url: z.string().nullable() }).openapi('BookingLocation');
const time = z.iso.datetime();
const link = (what: string) =>
  z
    .string()
    .nullable()
    .openapi({ description: `A page for the attendee that ${what}. It needs no key. Null without URL_SIGNING_KEY.` });

const effect = z
  .object({
    type: z.enum(effectTypes),
    status: z.enum(effectStatuses).openapi({ description: describeStates(effectStates) }),
    attempts: z.int().openapi({ description: 'The number of attempts so far.' }),
    lastError: z.string().nullable(),
    at: time.openapi({ description: 'When the effect is due or, once it is over, when it ended.' }),
  })
  .openapi('BookingEffect', {
    description: [
      'Mails to the attendee and to the contact of the organization, the entry in the calendar of the host, the link that',
      'the calendar makes, and the reminders. A failed effect is tried again after 5 seconds, doubling to an hour, until the booking starts.',
    ].join(' '),
  });

export const bookingSchema = z
  .object({
    id: z.string(),
    eventTypeId: z.string(),
    hostId: z.string().openapi({ description: 'The host whose time is booked.' }),
    status: z.enum(bookingStatuses).openapi({ description: describeStates(bookingStates) }),
    start: time,
    end: time,
    attendee: z.object({
      name: z.string(),
      email: z.string(),
      phone: z.string().nullable(),
      timezone: z.string(),
    }),
    location: orNull(bookedLocation),
    confirmationUrl: link('shows the booking'),
    rescheduleUrl: link('moves it'),
    cancelUrl: link('cancels it'),
    responses: freeForm,
    metadata: freeForm,
    rescheduleCount: z.int(),
    previousStart: time.optional().openapi({ description: 'Before the last reschedule, like `previousEnd`.' }),
    previousEnd: time.optional(),
    rescheduleReason: z.string().optional(),
    cancelledAt: time.optional(),
    cancellationReason: z.string().optional(),
    effects: z.array(effect).openapi({ description: 'The effects of the latest change.' }),
    createdAt: time,
    updatedAt: time,
  })
  .openapi('Booking');

export const bookablePlaceSchema = z
  .object({ eventTypeId: z.string(), start: time, end: time, location: orNull(bookedLocation) })
  .openapi('BookingPreview', { description: 'The answer to a dry run.' });

const bookings = z.array(bookingSchema);
const listA = inDialect('BookingListA', 'pagination', { bookings, pagination: paginationSchema });
const listB = inDialect('BookingListB', 'total', { bookings, ...flatPage });
export const bookingListSchema = z.union([listA, listB]);
export type BookingListA = z.input<typeof listA>;
export type BookingListB = z.input<typeof listB>;

const day = (name: 'start' | 'end', description: string) =>
  date.optional().openapi({ param: { name, in: 'query' }, description });

const lowerCase = (text: string) => text.toLowerCase();
export const bookingListQuery = z
  .object({
    eventTypeId: z
      .string()
      .optional()
      .openapi({ param: { name: 'eventTypeId', in: 'query' }, description: 'An unknown event type has no bookings.' }),
    status: z
      .string()
      .transform(lowerCase)
      .pipe(z.enum(listedStatuses))
      .optional()
      .openapi({
        param: { name: 'status', in: 'query' },
        type: 'string',
        enum: [...listedStatuses],
        description: 'Read in upper or lower case.',
      }),
    start: day('start', 'The first day of the start, in the zone of the default host.'),
    end: day('end', 'The last day of the start, not before `start`.'),
    ...pageQuery,
  })
  .superRefine(({ start, end }, context) => {
    if (start !== undefined && end !== undefined && end < start) {
      context.addIssue({ code: 'custom', path: ['end'], message: 'Expected no date before start.' });
    }
  });

const reason = text(500).optional();
const notifyAttendee = z
  .boolean()
  .optional()
  .openapi({ description: 'Default true. False: the attendee gets no mail of this change. Nothing else changes.' });

export const rescheduleSchema = z.object({ newStart: instant, reason, notifyAttendee }).openapi('BookingReschedule');
export const cancellationSchema = z.object({ reason, notifyAttendee }).openapi('BookingCancellation');

export const availabilityQuery = z.object({
  eventTypeId: z.string().openapi({ param: { name: 'eventTypeId', in: 'query' } }),
  start: date.openapi({ param: { name: 'start', in: 'query' }, description: 'The first day, in `timezone`.' }),
  end: date.openapi({
    param: { name: 'end', in: 'query' },
    description: 'The last day, not before `start`; at most 92 days in all.',
  }),
  timezone: timezone
    .optional()
    .openapi({ param: { name: 'timezone', in: 'query' }, description: 'A name of the tz database. Default UTC.' }),
});

export const availabilitySchema = z
  .object({
    slots: z.array(
      z
        .object({
          start: z.string().openapi({ description: 'With the offset of `timezone`; `Z` for UTC.' }),
          end: z.string(),
          available: z.boolean().openapi({
            description: 'False: taken, or closed by notice, advance or a limit. Closed times are not listed.',
          }),
        })
        .openapi('TimeSlot'),
    ),
    timezone: z.string(),
  })
  .openapi('Availability');
