import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { locationName } from '../../../src/scheduling/core/mail-text.ts';

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 38rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; background: #fff; }
dt { font-weight: 600; margin-top: .5rem; }
dd { margin: 0; }
a { color: #0645ad; }
fieldset { border: 1px solid #767676; margin: 1rem 0; }
label { display: block; padding: .35rem 0; }
textarea { width: 100%; box-sizing: border-box; font: inherit; }
button { font: inherit; padding: .5rem 1rem; }
.problem { border-left: .3rem solid #b00020; padding: .5rem 1rem; }
`;

/** Nothing but this style is applied, nothing is loaded, and forms go to this origin alone. */
export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

type Html = ReturnType<typeof html>;

/** A whole page. @param content is markup; texts in it were escaped when they were put in */
export const pageOf = (title: string, content: Html) => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title}</title>
    <style>${raw(style)}</style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      ${content}
    </main>
  </body>
</html>`;

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

export const problem = (text: string) => html`<p class="problem" role="alert">${text}</p>`;

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
