import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { BookingStatus } from '../core/booking-status.ts';
import { type EffectStatus, openEffect } from '../core/effect-status.ts';
import { type ChangeFacts, type EffectKind, type OpenEffect, versionOf } from '../core/effects.ts';
import type { BookedLocation, OfferedLocation, Question } from '../entities.ts';
import { hostName } from '../hosts.ts';

/** A booking as its workflow sees it. */
export interface FollowedBooking {
  id: string;
  /** The clock of the database, by which everything here is due. */
  now: Date;
  status: BookingStatus;
  rescheduleCount: number;
  start: Date;
  end: Date;
  attendee: { name: string; email: string; phone: string | null; timezone: string };
  responses: Record<string, unknown>;
  questions: Question[];
  location: BookedLocation | null;
  token: string | null;
  hostToken: string | null;
  eventType: string;
  offered: OfferedLocation[];
  organization: string;
  host: string;
  hostEmail: string | null;
  hostTimezone: string;
  /** What failed for good: an operator could try it again. */
  failed: { kind: EffectKind; lastError: string | null }[];
}

export interface FollowedEffect extends OpenEffect {
  facts: ChangeFacts | null;
  lastError: string | null;
}

const findBooking = statement({
  name: 'booking.followed',
  parameters: { bookingId: 'uuid' },
  row: {
    id: 'uuid',
    now: 'timestamptz',
    status: typed<BookingStatus>('text'),
    rescheduleCount: 'int',
    start: 'timestamptz',
    end: 'timestamptz',
    location: typed<BookedLocation | null>('json?'),
    token: 'text?',
    hostToken: 'text?',
    responses: typed<Record<string, unknown>>('json'),
    questions: typed<Question[]>('json'),
    organization: 'text',
    host: 'text',
    hostEmail: 'text?',
    eventType: 'text',
    offered: typed<OfferedLocation[]>('json'),
    attendee: typed<{ name: string; email: string; phone: string | null; timezone: string }>('json'),
    hostTimezone: 'text',
    failed: typed<{ kind: EffectKind; lastError: string | null }[]>('jsonb'),
  },
  text: `select b.id, atelier_now() as now, b.status, b.reschedule_count as "rescheduleCount", b.start_at as start,
          b.end_at as "end", b.location, b.token, b.host_token as "hostToken", b.responses, t.questions,
            o.name as organization,
          ${hostName('h')} as host, h.email as "hostEmail", t.name as "eventType", t.locations as offered,
          json_build_object('name', b.attendee_name, 'email', b.attendee_email, 'phone', b.attendee_phone,
                             'timezone', b.attendee_timezone) as attendee,
          h.timezone as "hostTimezone",
          (select coalesce(jsonb_agg(jsonb_build_object('kind', f.kind, 'lastError', f.last_error)
                                     order by f.version desc, f.kind), '[]')
             from booking_effect f where f.booking_id = b.id and f.status = 'failed') as failed
     from booking b
     join scheduling_event_type t on t.id = b.event_type_id
     join scheduling_host h on h.id = b.host_id
     join organization o on o.id = b.organization_id
    where b.organization_id = :organizationId and b.environment = :environment and b.id = :bookingId`,
});

/** At a time: a booking may have been moved a thousand times while no worker ran. */
const batchSize = 200;

const findOpen = statement({
  name: 'booking_effect.open',
  parameters: { bookingId: 'uuid' },
  row: {
    kind: typed<EffectKind>('text'),
    version: 'int',
    status: typed<EffectStatus>('text'),
    attempts: 'int',
    facts: typed<ChangeFacts | null>('jsonb?'),
    lastError: 'text?',
    dueAt: 'timestamptz',
    createdAt: 'timestamptz',
    handedOverAt: 'timestamptz?',
  },
  text: `select kind, version, status, attempts, facts, last_error as "lastError", due_at as "dueAt",
          created_at as "createdAt", handed_over_at as "handedOverAt"
     from booking_effect
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
      and status in (${openEffect})
    order by version, due_at, kind limit ${batchSize}`,
});

/** The booking and its open effects; undefined if it is unknown. */
export async function findFollowed(
  scope: Scope,
  bookingId: string,
): Promise<{ booking: FollowedBooking; effects: FollowedEffect[] } | undefined> {
  const booking = await scope.one(findBooking, { bookingId });
  if (!booking) return undefined;
  const effects = await scope.rows(findOpen, { bookingId });
  // An entry that was written after the booking was read belongs to a booking that has since changed.
  const version = versionOf(booking);
  return { booking, effects: effects.filter((effect) => effect.version <= version) };
}

// Connections of tenants cannot read it.
const findContactStatement = systemStatement({
  name: 'organization.contact',
  parameters: { organizationId: 'uuid' },
  row: { email: 'text?' },
  text: 'select email from organization where id = :organizationId',
});

/** The address of an organization for mails about its bookings; null where it named none. */
export const findContact = async (database: Database, { organizationId }: Tenant): Promise<string | null> =>
  (await sqlOn(database.pool).one(findContactStatement, { organizationId }))?.email ?? null;
