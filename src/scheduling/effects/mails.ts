import addressparser from 'nodemailer/lib/addressparser';
import { MailFailure } from '../../platform/mail.ts';
import { typeOf } from '../core/effects.ts';
import { bookingIds } from '../core/ids.ts';
import { type MailFacts, subjectOf, textOf } from '../core/mail-text.ts';
import { failPoint } from '../fail-points.ts';
import type { Outcome, Work } from './attempt.ts';
import { type FollowedBooking, type FollowedEffect, findContact } from './followed-booking.ts';
import { invitationOf } from './invitation.ts';
import { noteHandOver } from './record-effects.ts';

/** What the event type says of a location that has no address of its own. */
function placeOf({ location, offered }: FollowedBooking): string | null {
  const found = offered.find(({ type }) => type === location?.type);
  return found?.address || found?.number || null;
}

function organizerOf(mailFrom: string): { name: string; address: string } {
  const [found] = addressparser(mailFrom, { flatten: true });
  return { name: found?.name ?? '', address: found?.address || mailFrom };
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
  const to = forContact ? await findContact(services.database, scope.tenant) : booking.attendee.email;
  if (to === null || change === null) return { kind: 'nothing' };
  const links = services.bookingPages.linksOf(booking.token);
  const facts: MailFacts = {
    ...change,
    occasion: typeOf(kind) === 'reminder' ? 'reminder' : change.occasion,
    ...{ eventType: booking.eventType, attendee: booking.attendee, hostTimezone: booking.hostTimezone },
    ...{ location: booking.location, place: placeOf(booking) },
    links: links.confirmationUrl === null ? null : links,
  };
  const invitation = () => {
    const bookingId = bookingIds.format(booking.id);
    const organizer = organizerOf(services.mailFrom);
    return invitationOf({ ...facts, bookingId, version, organizer, changedAt: effect.createdAt }, services.publicUrl);
  };
  const mail = {
    ...{ to, subject: subjectOf(facts), text: textOf(facts, forContact) },
    about: `booking ${booking.id} ${version} ${kind}`,
    ...(facts.occasion !== 'reminder' && { invitation: invitation() }),
  };
  const ref = { bookingId: booking.id, version, kind };
  try {
    const mailer = services.calendarMail[scope.tenant.environment];
    await mailer.send(mail, () => noteHandOver(scope, ref, attempt));
    failPoint('booking.mail_sent');
    return { kind: 'done' };
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    const { message: why, isUncertain, isPermanent } = error;
    if (!isUncertain) return { kind: 'retry', why, isPermanent };
    return { kind: 'failed', why: `${why} It may have arrived, and is not sent again by itself.` };
  }
}
