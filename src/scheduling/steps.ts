// The steps of workflows that book a time.

import { createHash } from 'node:crypto';
import { clock } from '../platform/clock.ts';
import { fingerprintOf } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { AppError } from '../platform/errors.ts';
import { invalidPayload, problemsOf, refusalOfStep } from '../platform/parts/step-errors.ts';
import type { NamedThing, StepError, StepKind } from '../platform/parts/step-kind.ts';
import { readBookable } from './availability/calendar-rules.ts';
import { bookingBody, type NewBooking, readBooking } from './bookings/booking-input.ts';
import { type BookingView, bookingRecord } from './bookings/booking-view.ts';
import { checkTime, prepareBooking } from './bookings/check-booking.ts';
import { type CreateBookingServices, createBooking } from './bookings/create-booking.ts';
import { eventTypeIds } from './core/ids.ts';

const findNames = statement({
  name: 'event_type.names',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from scheduling_event_type
    where organization_id = :organizationId and environment = :environment and id = any(:ids) and deleted_at is null`,
});

const findNamed = statement({
  name: 'event_type.named',
  parameters: { names: 'text[]' },
  row: { id: 'uuid', name: 'text' },
  text: `select id, name from scheduling_event_type
    where organization_id = :organizationId and environment = :environment and name = any(:names) and deleted_at is null
    order by created_at desc limit 1000`,
});

/** The event type of a step that books. */
const namedEventType: NamedThing = {
  member: 'eventTypeId',
  noun: 'event type',
  async names(scope: Scope, ids) {
    const parsed = new Map(ids.map((id) => [id, eventTypeIds.parse(id)]));
    const uuids = [...parsed.values()].filter((id) => id !== undefined);
    if (uuids.length === 0) return new Map();
    const names = new Map((await scope.rows(findNames, { ids: uuids })).map(({ id, name }) => [id, name]));
    return new Map(
      [...parsed].flatMap(([id, uuid]) => (uuid && names.has(uuid) ? [[id, names.get(uuid)!] as const] : [])),
    );
  },
  async find(scope: Scope, names) {
    const found = await scope.rows(findNamed, { names });
    return found.map(({ id, name }) => ({ id: eventTypeIds.format(id), name }));
  },
};

/** How long a step waits when the process already creates its maximum number of bookings. */
const fullAfterMs = 2_000;

const isFull = (error: unknown): boolean => error instanceof AppError && error.kind === 'service_unavailable';

/** Why a time was not booked, with the details that the endpoint returns. */
function refusal(error: unknown): { error: StepError } {
  const refused = refusalOfStep(error);
  const isOfTime = error instanceof AppError && (error.kind === 'conflict' || error.kind === 'unprocessable');
  return { error: isOfTime ? { ...refused, details: error.facts ?? {} } : refused };
}

/** A booking of a test run: every check is made, and nothing is stored. @throws AppError as `createBooking` */
async function sampleOf(scope: Scope, input: NewBooking): Promise<BookingView> {
  const bookable = await readBookable(scope, input.eventTypeId);
  const { startsAt, endsAt, place } = prepareBooking(bookable, input);
  await checkTime(scope, bookable, startsAt);
  const hex = createHash('sha256').update(JSON.stringify(input)).digest('hex');
  const now = clock.date();
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    eventTypeId: bookable.eventTypeId,
    hostId: bookable.hostId,
    status: 'confirmed',
    start: new Date(startsAt),
    end: new Date(endsAt),
    attendee: input.attendee,
    location: place,
    responses: input.responses,
    metadata: input.metadata,
    rescheduleCount: 0,
    previousStart: null,
    previousEnd: null,
    rescheduleReason: null,
    cancelledAt: null,
    cancellationReason: null,
    token: null,
    effects: [],
    createdAt: now,
    updatedAt: now,
  };
}

export const bookingStep: StepKind<CreateBookingServices> = {
  type: 'booking',
  scope: 'scheduling',
  description:
    'Books a time. The payload is the body of `POST /api/v1/scheduling/bookings`. Its output is the booking; a time that cannot be booked fails the step with the code of the refusal, such as `slot_unavailable`.',
  example: {
    eventTypeId: 'et_0199aaaabbbb7ccc8ddd111122223333',
    start: '2030-06-12T09:00:00Z',
    attendee: { name: 'Grace Hopper', email: 'grace@example.com' },
  },
  named: namedEventType,
  check: (_, { payload }) => problemsOf(bookingBody, payload),
  async perform(services, scope, { fields: { payload }, key }) {
    const read = bookingBody.safeParse(payload);
    if (!read.success) return { error: invalidPayload(problemsOf(bookingBody, payload)) };
    const claim = { method: 'STEP', path: '/scheduling/bookings', key, fingerprint: fingerprintOf(null) };
    try {
      const { outcome } = await createBooking(services, scope, readBooking(read.data), claim);
      return { output: bookingRecord(services.bookingPages, outcome) };
    } catch (error) {
      return isFull(error) ? { slotAfterMs: fullAfterMs } : refusal(error);
    }
  },
  async simulate({ bookingPages }, scope, { payload }) {
    const read = bookingBody.safeParse(payload);
    if (!read.success) return { error: invalidPayload(problemsOf(bookingBody, payload)) };
    try {
      return { output: bookingRecord(bookingPages, await sampleOf(scope, readBooking(read.data))) };
    } catch (error) {
      return refusal(error);
    }
  },
};
