import type { ChangeFacts } from './effects.ts';

export type MailOccasion = ChangeFacts['occasion'] | 'reminder';

export interface MailFacts extends Omit<ChangeFacts, 'occasion'> {
  occasion: MailOccasion;
  eventType: string;
  attendee: { name: string; email: string; timezone: string };
  hostTimezone: string;
  location: { type: string; url: string | null } | null;
  /** What the event type says of the location, where the booking has no address: a postal address, for instance. */
  place: string | null;
  /** Null where the booking has no pages. */
  links: { confirmationUrl: string; rescheduleUrl: string; cancelUrl: string } | null;
}

const words: Record<MailOccasion, string> = {
  confirmed: 'Confirmed',
  moved: 'Moved',
  cancelled: 'Cancelled',
  reminder: 'Reminder',
};

const sentences: Record<MailOccasion, string> = {
  confirmed: 'The booking is confirmed.',
  moved: 'The booking was moved.',
  cancelled: 'The booking was cancelled.',
  reminder: 'The booking is soon.',
};

/** In one line: what ends a line could begin a header, or pass for a line of ours. */
export const oneLine = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
    .replaceAll(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim();

const parts = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const;
const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** `Wed 14 Jun 2028, 12:00` */
export function wallTime(instant: string, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', { ...parts, ...clock, timeZone });
  const found = Object.fromEntries(format.formatToParts(new Date(instant)).map(({ type, value }) => [type, value]));
  const { weekday, day, month, year, hour, minute } = found;
  return `${weekday} ${day} ${month} ${year}, ${hour}:${minute}`;
}

export const subjectOf = ({ occasion, eventType, start, attendee }: MailFacts): string =>
  `${words[occasion]}: ${oneLine(eventType)}, ${wallTime(start, attendee.timezone)} ${attendee.timezone}`;

/** Only addresses of the web and of telephones are shown: mail programs make links of them. */
const isShown = (url: string) => /^(https?:\/\/|tel:)/i.test(url);

/** Types of locations that are names of services, as their services write them. Other types are the host's own words. */
const services: Readonly<Record<string, string>> = { google_meet: 'Google Meet', microsoft_teams: 'Microsoft Teams' };

/** A type of location, for people. */
export const locationName = (type: string): string => services[type] ?? oneLine(type);

/** Where the booking takes place; null where nobody said. */
export function whereOf({ location, place }: Pick<MailFacts, 'location' | 'place'>): string | null {
  if (!location) return null;
  const { type, url } = location;
  const address = url !== null ? (isShown(url) ? url : '') : (place ?? '');
  const text = oneLine(address);
  return text === '' ? locationName(type) : `${locationName(type)}: ${text}`;
}

/** `Wed 14 Jun 2028, 12:00 - 12:30 Europe/Berlin`; the day of the end, too, where it is another one. */
function span(start: string, end: string, timezone: string): string {
  const [from, to] = [wallTime(start, timezone), wallTime(end, timezone)];
  const day = from.indexOf(',');
  const isSameDay = to.startsWith(from.slice(0, day + 1));
  return `${from} - ${isSameDay ? to.slice(day + 2) : to} ${timezone}`;
}

/** @param forContact for the organization's contact, who also learns the attendee's address */
export function textOf(facts: MailFacts, forContact: boolean): string {
  const { attendee, start, end, hostTimezone, previousStart, links, occasion } = facts;
  const sameClock = wallTime(start, attendee.timezone) === wallTime(start, hostTimezone);
  const where = whereOf(facts);
  const reason = oneLine(facts.reason ?? '');
  const rows: [string, string | null][] = [
    ['What', oneLine(facts.eventType)],
    ['Who', oneLine(attendee.name) + (forContact ? ` <${attendee.email}>` : '')],
    ['When', span(start, end, attendee.timezone)],
    ['Host', sameClock ? null : span(start, end, hostTimezone)],
    ['Before', previousStart && `${wallTime(previousStart, attendee.timezone)} ${attendee.timezone}`],
    ['Where', where],
    ['Reason', reason === '' ? null : reason],
  ];
  const shown = occasion === 'cancelled' ? null : links;
  const linked: [string, string | null][] = shown
    ? [
        ['Details', shown.confirmationUrl],
        ['Move', shown.rescheduleUrl],
        ['Cancel', shown.cancelUrl],
      ]
    : [];
  const lines = (of: [string, string | null][]) =>
    of.filter(([, value]) => value !== null).map(([name, value]) => `${`${name}:`.padEnd(9)}${value}`);
  return [sentences[occasion], '', ...lines(rows), ...(shown ? ['', ...lines(linked)] : []), ''].join('\n');
}
