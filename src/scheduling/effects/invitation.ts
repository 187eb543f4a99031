import ical, { ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator';
import { type MailFacts, oneLine, whereOf } from '../core/mail-text.ts';

export interface InvitationFacts extends MailFacts {
  /** As callers see it. */
  bookingId: string;
  /** How often the booking was changed. */
  version: number;
  /** Of the mail. */
  organizer: { name: string; address: string };
  /** When the change was made. */
  changedAt: Date;
}

/**
 * The calendar entry of a booking as an iCalendar object (RFC 5545), which mail programs add, move or remove (RFC 5546).
 * @param publicUrl PUBLIC_URL, whose host makes the UID the installation's own
 */
export function invitationOf(
  facts: InvitationFacts,
  publicUrl: string,
): { method: 'REQUEST' | 'CANCEL'; content: string } {
  const isOff = facts.occasion === 'cancelled';
  const method = isOff ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST;
  const calendar = ical({ method, prodId: { company: 'Atelier', product: 'Scheduling', language: 'EN' } });
  const { attendee, organizer } = facts;
  const where = whereOf(facts);
  calendar.createEvent({
    id: `${facts.bookingId}@${new URL(publicUrl).host}`,
    sequence: facts.version,
    stamp: facts.changedAt,
    start: new Date(facts.start),
    end: new Date(facts.end),
    summary: oneLine(facts.eventType),
    ...(where !== null && { location: where }),
    status: isOff ? ICalEventStatus.CANCELLED : ICalEventStatus.CONFIRMED,
    organizer: { name: organizer.name || organizer.address, email: organizer.address },
    attendees: [
      { name: oneLine(attendee.name), email: attendee.email, status: ICalAttendeeStatus.ACCEPTED, rsvp: false },
    ],
  });
  // The library leaves out the end of the last line, which RFC 5545, 3.1 requires.
  return { method, content: `${calendar.toString()}\r\n` };
}
