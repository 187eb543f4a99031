import { html } from 'hono/html';
import { locationName } from '../../../src/scheduling/core/mail-text.ts';
import type { Html } from '../../html-page.ts';

/** What the pages show of a booking. */
export interface ShownBooking {
  name: string;
  attendee: string;
  start: Date;
  end: Date;
  /** Of the attendee. */
  timezone: string;
  location: { type: string; url: string | null } | null;
  status: 'confirmed' | 'cancelled';
  isOver: boolean;
  hasStarted: boolean;
}

/** `Wed, 12 Jun 2030, 11:00 – 11:30 (Europe/Berlin)` */
export function timeOf(start: Date, end: Date, timeZone: string): string {
  const day = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const;
  const hour = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-GB', { ...day, ...hour, timeZone });
  return `${format.formatRange(start, end)} (${timeZone})`;
}

/** Only addresses of the web and of telephones become links. */
const isLink = (url: string) => /^(https?:|tel:)/i.test(url);

const place = ({ type, url }: NonNullable<ShownBooking['location']>) =>
  url !== null && isLink(url)
    ? html`${locationName(type)}: <a href="${url}" rel="noreferrer">${url}</a>`
    : html`${locationName(type)}`;

export const facts = (booking: ShownBooking) => html`
      <dl>
        <dt>What</dt><dd>${booking.name}</dd>
        <dt>When</dt><dd>${timeOf(booking.start, booking.end, booking.timezone)}</dd>
        <dt>Who</dt><dd>${booking.attendee}</dd>
        ${booking.location ? html`<dt>Where</dt><dd>${place(booking.location)}</dd>` : ''}
        <dt>Status</dt><dd>${booking.status === 'cancelled' ? 'Cancelled' : 'Confirmed'}</dd>
      </dl>`;

/** Parts of a page, one after the other. */
export const joined = (...parts: Html[]): Html => html`${parts}`;

const reason = html`<p><label for="reason">Reason (optional)</label>
        <textarea id="reason" name="reason" rows="3" maxlength="500"></textarea></p>`;

export const cancelForm = (page: string) => html`
      <form method="post" action="${page}/cancel">
        ${reason}
        <p><button type="submit">Cancel the booking</button></p>
      </form>
      <p><a href="${page}">Keep it</a></p>`;

/** A time that can be chosen. */
export interface Choice {
  start: Date;
  end: Date;
}

export interface Week {
  /** `YYYY-MM-DD` of the first day of the weeks beside; undefined where there is none. */
  before: string | undefined;
  after: string | undefined;
  choices: Choice[];
}

const choice = ({ start, end }: Choice, timezone: string) => html`
          <label><input type="radio" name="start" value="${start.toISOString()}" required>
            ${timeOf(start, end, timezone)}</label>`;

export const rescheduleForm = (page: string, timezone: string, { before, after, choices }: Week) => html`
      <nav aria-label="Weeks"><p>
        ${before ? html`<a href="${page}/reschedule?date=${before}">Earlier</a>` : ''}
        ${after ? html`<a href="${page}/reschedule?date=${after}">Later</a>` : ''}
      </p></nav>
      ${
        choices.length === 0
          ? html`<p>No time is free in this week.</p>`
          : html`<form method="post" action="${page}/reschedule">
        <fieldset><legend>Choose a new time</legend>${choices.map((one) => choice(one, timezone))}
        </fieldset>
        ${reason}
        <p><button type="submit">Move the booking</button></p>
      </form>`
      }
      <p><a href="${page}">Keep the time</a></p>`;

export const links = (page: string, { status, isOver, hasStarted }: ShownBooking) => html`
      ${status === 'confirmed' && !hasStarted ? html`<p><a href="${page}/reschedule">Choose another time</a></p>` : ''}
      ${status === 'confirmed' && !isOver ? html`<p><a href="${page}/cancel">Cancel the booking</a></p>` : ''}`;
