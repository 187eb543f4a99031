import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql } from '../../platform/outbox/enqueue.ts';
import { type PlannedEffect, planEffects, wantsLink } from '../core/effects.ts';
import { type EffectSettings, followWork } from '../effects/enqueue-effects.ts';
import type { Booking } from '../entities.ts';
import type { BookingPages } from './booking-pages.ts';
import { holdOf, isoTimes, type NewBooking, type Prepared } from './check-booking.ts';

export interface InsertBookingServices extends EffectSettings {
  bookingPages: BookingPages;
}

/** A booking that is to be written, with what follows from it. */
export interface BookingToWrite {
  row: Booking;
  effects: PlannedEffect[];
}

/** A booking that passed all checks, as it is written. */
export function bookingToWrite(
  { bookingPages, effectTimeScale: timeScale }: InsertBookingServices,
  { id, scope, input }: { id: string; scope: Scope; input: NewBooking },
  { bookable, place, startsAt, endsAt }: Prepared,
  now: Date,
): BookingToWrite {
  const [startAt, endAt] = [new Date(startsAt), new Date(endsAt)];
  const row: Booking = {
    id,
    token: bookingPages.tokenOf(id),
    hostToken: null,
    ...scope.tenant,
    eventTypeId: bookable.eventTypeId,
    hostId: bookable.hostId,
    status: 'confirmed',
    startAt,
    endAt,
    ...holdOf({ startsAt, endsAt }, bookable.eventType),
    attendeeName: input.attendee.name,
    attendeeEmail: input.attendee.email,
    attendeePhone: input.attendee.phone,
    attendeeTimezone: input.attendee.timezone,
    location: place,
    responses: input.responses,
    metadata: input.metadata,
    previousStartAt: null,
    previousEndAt: null,
    rescheduleReason: null,
    rescheduleCount: 0,
    cancelledAt: null,
    cancellationReason: null,
    correlationId: scope.correlationId,
    createdAt: now,
    updatedAt: now,
  };
  const effects = planEffects({
    now,
    status: 'confirmed',
    notifyAttendee: true,
    wantsLink: wantsLink(place, bookable.locations),
    reminders: bookable.reminders,
    timeScale,
    facts: { ...isoTimes(startAt, endAt), occasion: 'confirmed', previousStart: null, reason: null },
  });
  return { row, effects };
}

const columns = {
  id: 'uuid',
  event_type_id: 'uuid',
  host_id: 'uuid',
  status: 'text',
  start_at: 'timestamptz',
  end_at: 'timestamptz',
  hold_start_at: 'timestamptz',
  hold_end_at: 'timestamptz',
  attendee_name: 'text',
  attendee_email: 'text',
  attendee_phone: 'text',
  attendee_timezone: 'text',
  location: 'json',
  responses: 'json',
  metadata: 'json',
  reschedule_count: 'int',
  correlation_id: 'text',
  token: 'text',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
};
const names = Object.keys(columns).join(', ');
const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`);

// One statement for all, because a busy tenant creates hundreds in a second. `enqueueEffects` creates the same effects
// after a change; a new booking has no earlier effects to remove and no waiting entry.
const insert = statement({
  name: 'booking.insert',
  parameters: { rows: 'json' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `with requested as materialized (
     select * from json_to_recordset(:rows) as t(${typed.join(', ')}, effects json)),
   made as (
     insert into booking (organization_id, environment, ${names}) select :organizationId, :environment, ${names}
       from requested),
   planned as (
     insert into booking_effect (booking_id, version, kind, organization_id, environment, status, attempts, facts,
                                 due_at, created_at, updated_at)
     select a.id, 0, e.kind, :organizationId, :environment, 'pending', 0, e.facts, e."dueAt", a.created_at, a.created_at
       from requested a cross join lateral json_to_recordset(a.effects) as e(kind text, "dueAt" timestamptz, facts jsonb))
   ${enqueueSql(followWork, { subject: 'id', correlation: 'correlation_id', from: 'requested' })}
   returning subject_id as "subjectId", id as "entryId"`,
  // Each request attempts its own.
  enqueues: 'drain',
});

/**
 * Writes new bookings, and what follows from them. The host of each is locked.
 * @returns the id of the outbox entry of each booking, by the booking's
 */
export async function insertBookings(
  tx: Transaction,
  bookings: readonly BookingToWrite[],
): Promise<Map<string, string>> {
  const rows = bookings.map(({ row, effects }) => ({
    id: row.id,
    event_type_id: row.eventTypeId,
    host_id: row.hostId,
    status: row.status,
    start_at: row.startAt,
    end_at: row.endAt,
    hold_start_at: row.holdStartAt,
    hold_end_at: row.holdEndAt,
    attendee_name: row.attendeeName,
    attendee_email: row.attendeeEmail,
    attendee_phone: row.attendeePhone,
    attendee_timezone: row.attendeeTimezone,
    location: row.location,
    responses: row.responses,
    metadata: row.metadata,
    reschedule_count: row.rescheduleCount,
    correlation_id: row.correlationId,
    token: row.token,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    effects,
  }));
  const entries = await tx.rows(insert, { rows: JSON.stringify(rows) });
  return new Map(entries.map(({ subjectId, entryId }) => [subjectId, entryId]));
}
