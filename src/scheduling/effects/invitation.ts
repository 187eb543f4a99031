import ical, { ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator';
import { addressOf, type MailFacts, oneLine, whereOf, withWhom } from '../core/mail-text.ts';

interface InvitationFacts extends MailFacts {
  /** UUID. */
  bookingId: string;
  /** How often the booking was changed. */
  version: number;
  /** The address that answers go to, with the organization's name. */
  organizer: { name: string; address: string };
  /** The time of the change. */
  changedAt: Date;
}

function descriptionOf(facts: InvitationFacts): string {
  const where = whereOf(facts);
  const lines = [
    `With: ${withWhom(facts)}`,
    ...(where === null ? [] : [`Where: ${where}`]),
    ...(facts.links === null ? [] : [`Details: ${facts.links.confirmationUrl}`]),
  ];
  return lines.join('\n');
}

/**
 * The calendar entry of a booking as an iCalendar object (RFC 5545), which mail programs add, move or remove (RFC 5546). Its
 * UID stays the same for ever, so that they find the entry again.
 */
export function invitationOf(facts: InvitationFacts): { method: 'REQUEST' | 'CANCEL'; content: string } {
  const isOff = facts.occasion === 'cancelled';
  const method = isOff ? ICalCalendarMethod.CANCEL : ICalCalendarMethod.REQUEST;
  const calendar = ical({ method, prodId: { company: 'Atelier', product: 'Scheduling', language: 'EN' } });
  const { attendee, organizer } = facts;
  const address = addressOf(facts);
  calendar.createEvent({
    id: `${facts.bookingId}@atelier`,
    sequence: facts.version,
    stamp: facts.changedAt,
    start: new Date(facts.start),
    end: new Date(facts.end),
    summary: oneLine(facts.eventType),
    ...(address !== null && { location: address }),
    ...(!isOff && { description: descriptionOf(facts) }),
    status: isOff ? ICalEventStatus.CANCELLED : ICalEventStatus.CONFIRMED,
    organizer: { name: organizer.name, email: organizer.address },
    attendees: [
      { name: oneLine(attendee.name), email: attendee.email, status: ICalAttendeeStatus.ACCEPTED, rsvp: false },
    ],
  });
  // The library leaves out the end of the last line, which RFC 5545, 3.1 requires.
  return { method, content: `${calendar.toString()}\r\n` };
}
