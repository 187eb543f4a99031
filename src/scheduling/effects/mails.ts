import addressparser from 'nodemailer/lib/addressparser';
import { MailFailure } from '../../platform/mail.ts';
import { countMail } from '../../tenancy/index.ts';
import { hostLinksOf } from '../bookings/booking-pages.ts';
import { typeOf } from '../core/effects.ts';
import { type MailFacts, oneLine, subjectOf, textOf } from '../core/mail-text.ts';
import { failPoint } from '../fail-points.ts';
import type { Outcome, Work } from './attempt.ts';
import { type FollowedBooking, type FollowedEffect, findContact } from './followed-booking.ts';
import { invitationOf } from './invitation.ts';
import { noteHandOver } from './record-effects.ts';

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
