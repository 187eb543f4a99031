import { html, raw } from 'hono/html';
import { locationName, oneLine } from '../../../src/scheduling/core/mail-text.ts';
import type { Html } from '../../pages/html-page.ts';

/** The data of a booking that the pages show. */
export interface ShownBooking {
  /** The address of the page itself. */
  url: string;
  name: string;
  /** The host and the organization. */
  withWhom: string;
  attendee: string;
  /** What only the host sees; null for the attendee. */
  forHost: { email: string; phone: string | null; answers: string[] } | null;
  start: Date;
  end: Date;
  /** The reader's own timezone, or the one chosen on the page. */
  timezone: string;
  location: { type: string; url: string | null } | null;
  place: string | null;
  status: 'confirmed' | 'cancelled';
  isOver: boolean;
  hasStarted: boolean;
}

const dayParts = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const;
const clockParts = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** `Wed, 12 Jun 2030, 11:00 – 11:30 (Europe/Berlin)` */
export function timeOf(start: Date, end: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { ...dayParts, ...clockParts, timeZone });
  return `${format.formatRange(start, end)} (${timeZone})`;
}

/** Only addresses of the web and of telephones become links. */
const isLink = (url: string) => /^(https?:|tel:)/i.test(url);

/** A line of the list of facts. */
export function placeOf({ location, place }: Pick<ShownBooking, 'location' | 'place'>) {
  if (!location) return '';
  const { type, url } = location;
  if (url !== null && isLink(url)) {
    return html`<dt>Where</dt><dd>${locationName(type)}: <a href="${url}" rel="noreferrer">${url}</a></dd>`;
  }
  const address = url === null && place !== null ? `: ${oneLine(place)}` : '';
  return html`<dt>Where</dt><dd>${locationName(type)}${address}</dd>`;
}

const forHost = ({ email, phone, answers }: NonNullable<ShownBooking['forHost']>) => html`
        <dt>Mail</dt><dd>${email}</dd>
        ${phone === null ? '' : html`<dt>Phone</dt><dd>${phone}</dd>`}
        ${answers.length === 0 ? '' : html`<dt>Answers</dt>${answers.map((one) => html`<dd>${one}</dd>`)}`}`;

export const facts = (booking: ShownBooking) => html`
      <dl>
        <dt>What</dt><dd>${booking.name}</dd>
        <dt>With</dt><dd>${booking.withWhom}</dd>
        <dt>When</dt><dd>${timeOf(booking.start, booking.end, booking.timezone)}</dd>
        <dt>Who</dt><dd>${booking.attendee}</dd>
        ${booking.forHost ? forHost(booking.forHost) : ''}
        ${placeOf(booking)}
        <dt>Status</dt><dd>${booking.status === 'cancelled' ? 'Cancelled' : 'Confirmed'}</dd>
        <dt>This page</dt><dd><a href="${booking.url}">${booking.url}</a></dd>
      </dl>`;

/** Names of zones as options, which are the same on every page. */
const zoneOptions = ['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => `<option>${zone}</option>`).join('');

/** A choice of the zone in which times are shown. @param hidden the other parameters of the address */
export const zoneForm = (path: string, timezone: string, hidden: Record<string, string> = {}) => html`
      <form method="get" action="${path}">
        ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
        <p><label for="timezone">Time zone</label>
        <select id="timezone" name="timezone"><option selected>${timezone}</option>${raw(zoneOptions)}</select>
        <button type="submit">Show times in this zone</button></p>
      </form>`;

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
  /** `YYYY-MM-DD` of the first day of the neighbouring weeks; undefined if there is none. */
  before: string | undefined;
  after: string | undefined;
  choices: Choice[];
}

interface Chosen {
  /** The path of the page. */
  page: string;
  timezone: string;
  /** Whether the reader chose the zone: it is kept from page to page. */
  isChosen: boolean;
  /** The requested first day. */
  date: string | undefined;
}

/** Choices by the day on which they begin, in their order. */
export function byDay(
  choices: readonly Choice[],
  timeZone: string,
): [day: string, times: { start: string; label: string }[]][] {
  const dayFormat = new Intl.DateTimeFormat('en-GB', { ...dayParts, timeZone });
  const clockFormat = new Intl.DateTimeFormat('en-GB', { ...clockParts, timeZone });
  const days = Map.groupBy(choices, ({ start }) => dayFormat.format(start));
  return [...days].map(([day, times]) => [
    day,
    times.map(({ start, end }) => ({ start: start.toISOString(), label: clockFormat.formatRange(start, end) })),
  ]);
}

/** Times as a question of a form. */
export const timeChoices = (choices: readonly Choice[], timezone: string) => html`
        <fieldset><legend>Choose a new time (${timezone})</legend>${byDay(choices, timezone).map(
          ([day, times]) => html`
          <fieldset><legend>${day}</legend>${times.map(
            ({ start, label }) => html`
            <label><input type="radio" name="start" value="${start}" required> ${label}</label>`,
          )}
          </fieldset>`,
        )}
        </fieldset>`;

/** Links to the neighbouring weeks. @param urlOf the page of a day */
export const weekLinks = ({ before, after }: Week, urlOf: (day: string) => string) => html`
      <nav aria-label="Weeks"><p>
        ${before ? html`<a href="${urlOf(before)}">Earlier</a>` : ''}
        ${after ? html`<a href="${urlOf(after)}">Later</a>` : ''}
      </p></nav>`;

export const rescheduleForm = ({ page, timezone, isChosen, date }: Chosen, shown: Week) => {
  const { choices } = shown;
  const path = `${page}/reschedule`;
  const week = (day: string) => `${path}?${new URLSearchParams({ date: day, ...(isChosen && { timezone }) })}`;
  return html`
      ${zoneForm(path, timezone, date === undefined ? {} : { date })}
      ${weekLinks(shown, week)}
      ${
        choices.length === 0
          ? html`<p>No time is free in this week.</p>`
          : html`<form method="post" action="${path}">
        ${isChosen ? html`<input type="hidden" name="timezone" value="${timezone}">` : ''}
        ${timeChoices(choices, timezone)}
        ${reason}
        <p><button type="submit">Move the booking</button></p>
      </form>`
      }
      <p><a href="${page}">Keep the time</a></p>`;
};

export const links = (page: string, { status, isOver, hasStarted }: ShownBooking) => html`
      ${status === 'confirmed' && !hasStarted ? html`<p><a href="${page}/reschedule">Choose another time</a></p>` : ''}
      ${status === 'confirmed' && !isOver ? html`<p><a href="${page}/cancel">Cancel the booking</a></p>` : ''}`;
