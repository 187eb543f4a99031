import ical, { ICalAttendeeStatus, ICalCalendarMethod, ICalEventStatus } from 'ical-generator';
import addressparser from 'nodemailer/lib/addressparser';
import { MailFailure } from '../../platform/mail.ts';
import { countMail } from '../../tenancy/index.ts';
import { hostLinksOf } from '../bookings/booking-pages.ts';
import { typeOf } from '../core/effects.ts';
import { addressOf, type MailFacts, oneLine, subjectOf, textOf, whereOf, withWhom } from '../core/mail-text.ts';
import { failPoint } from '../fail-points.ts';
import type { Outcome, Work } from './attempt.ts';
import { type FollowedBooking, type FollowedEffect, findContact } from './followed-booking.ts';
import { noteHandOver } from './record-effects.ts';

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
function invitationOf(facts: InvitationFacts): { method: 'REQUEST' | 'CANCEL'; content: string } {
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

/** The location text of the event type, if the location has no address of its own. */
function placeOf({ location, offered }: FollowedBooking): string | null {
  const found = offered.find(({ type }) => type === location?.type);
  return found?.address || found?.number || null;
}

function senderOf(mailFrom: string): string {
  const [found] = addressparser(mailFrom, { flatten: true });
  return found?.address || mailFrom;
}

/** Sends the mail of an effect. */
export async function sendEffectMail(
  { services, scope, booking }: Work,
  effect: FollowedEffect,
  attempt: number,
): Promise<Outcome> {
  failPoint('booking.mail_begun');
  const { kind, version, facts: change } = effect;
  const forContact = kind === 'contact_mail';
  const contact = await findContact(services.database, scope.tenant);
  const to = forContact ? contact : booking.attendee.email;
  if (to === null || change === null) return { kind: 'nothing' };
  const { organization, host } = booking;
  const own = services.bookingPages.linksOf(booking.token);
  const isReminder = typeOf(kind) === 'reminder';
  const facts: MailFacts = {
    ...change,
    // A reminder is of the time that comes, and of no change that led to it.
    ...(isReminder && { occasion: 'reminder', previousStart: null, reason: null }),
    organization,
    host,
    eventType: booking.eventType,
    attendee: booking.attendee,
    responses: booking.responses,
    questions: booking.questions,
    hostTimezone: booking.hostTimezone,
    location: booking.location,
    place: placeOf(booking),
    links: forContact
      ? await hostLinksOf(services.bookingPages, scope, booking)
      : own.confirmationUrl === null
        ? null
        : own,
  };
  const name = oneLine(organization);
  const answersTo = booking.hostEmail ?? contact;
  const organizer = { name, address: answersTo ?? senderOf(services.mailFrom) };
  const invitation = () =>
    invitationOf({ ...facts, bookingId: booking.id, version, organizer, changedAt: effect.createdAt });
  const mail = {
    to,
    subject: subjectOf(facts),
    text: textOf(facts, forContact),
    onBehalfOf: name,
    ...(answersTo !== null && { replyTo: { name: booking.hostEmail ? oneLine(host) : name, address: answersTo } }),
    about: `booking ${booking.id} ${version} ${kind}`,
    ...(!isReminder && { invitation: invitation() }),
  };
  const ref = { bookingId: booking.id, version, kind };
  try {
    const mailer = services.calendarMail[scope.tenant.environment];
    await mailer.send(mail, {
      handOver: () => noteHandOver(scope, ref, attempt),
      async count() {
        if (!forContact) await countMail(scope, { isRefusable: false });
      },
    });
    failPoint('booking.mail_sent');
    return { kind: 'done' };
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    const { message: why, isUncertain, isPermanent } = error;
    if (!isUncertain) return { kind: 'retry', why, isPermanent };
    return { kind: 'failed', why: `${why} It may have arrived, and is not sent again by itself.` };
  }
}
