import type { ChangeFacts } from './effects.ts';

type MailOccasion = ChangeFacts['occasion'] | 'reminder';

export interface MailFacts extends Omit<ChangeFacts, 'occasion'> {
  occasion: MailOccasion;
  eventType: string;
  attendee: { name: string; email: string; phone: string | null; timezone: string };
  /** Answers by their labels. */
  responses: Record<string, unknown>;
  questions: readonly { label: string }[];
  organization: string;
  host: string;
  hostTimezone: string;
  location: { type: string; url: string | null } | null;
  /** The location text of the event type, if the booking has no address: a postal address, for instance. */
  place: string | null;
  /** The reader's pages; null where the booking has none. */
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

type Place = Pick<MailFacts, 'location' | 'place'>;

/** The address at which the booking takes place, in one line; null where it has none. */
export function addressOf({ location, place }: Place): string | null {
  if (!location) return null;
  const { url } = location;
  const text = oneLine(url !== null ? (isShown(url) ? url : '') : (place ?? ''));
  return text === '' ? null : text;
}

/** Where the booking takes place; null where none was given. */
export function whereOf(facts: Place): string | null {
  if (!facts.location) return null;
  const [name, address] = [locationName(facts.location.type), addressOf(facts)];
  return address === null ? name : `${name}: ${address}`;
}

/** Who the attendee meets: a host that is called as its organization is named once. */
export const withWhom = ({ host, organization }: Pick<MailFacts, 'host' | 'organization'>): string =>
  host === organization ? oneLine(organization) : `${oneLine(host)}, ${oneLine(organization)}`;

const maxAnswerLength = 500;
const maxAnswers = 100;

/** Answers in the order of the questions, and then those to no question: the database keeps no order of members. */
const inOrder = (responses: Record<string, unknown>, questions: readonly { label: string }[]) => {
  const asked = questions.flatMap(({ label }) => (Object.hasOwn(responses, label) ? [label] : []));
  return [...new Set([...asked, ...Object.keys(responses)])].map((label) => [label, responses[label]] as const);
};

/** The answers, one per line. */
export const answersOf = ({ responses, questions }: Pick<MailFacts, 'responses' | 'questions'>): string[] =>
  inOrder(responses, questions)
    .filter(([, answer]) => answer !== null && answer !== '')
    .slice(0, maxAnswers)
    .map(([label, answer]) => {
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
      return `${oneLine(label)}: ${[...oneLine(text)].slice(0, maxAnswerLength).join('')}`;
    });

/** `Wed 14 Jun 2028, 12:00 - 12:30 Europe/Berlin`; the day of the end, too, where it is another one. */
function span(start: string, end: string, timezone: string): string {
  const [from, to] = [wallTime(start, timezone), wallTime(end, timezone)];
  const day = from.indexOf(',');
  const isSameDay = to.startsWith(from.slice(0, day + 1));
  return `${from} - ${isSameDay ? to.slice(day + 2) : to} ${timezone}`;
}

/** @param forContact for the organization's contact, who also learns how the attendee is reached, and the answers */
export function textOf(facts: MailFacts, forContact: boolean): string {
  const { attendee, start, end, hostTimezone, previousStart, links, occasion } = facts;
  const sameClock = wallTime(start, attendee.timezone) === wallTime(start, hostTimezone);
  const where = whereOf(facts);
  const reason = oneLine(facts.reason ?? '');
  const rows: [string, string | null][] = [
    ['What', oneLine(facts.eventType)],
    ['With', withWhom(facts)],
    ['Who', oneLine(attendee.name) + (forContact ? ` <${attendee.email}>` : '')],
    ['Phone', forContact && attendee.phone ? oneLine(attendee.phone) : null],
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
  const answers = forContact ? answersOf(facts) : [];
  const answered = answers.length > 0 ? ['', 'Answers:', ...answers.map((line) => `  ${line}`)] : [];
  const lines = (of: [string, string | null][]) =>
    of.filter(([, value]) => value !== null).map(([name, value]) => `${`${name}:`.padEnd(9)}${value}`);
  return [sentences[occasion], '', ...lines(rows), ...answered, ...(shown ? ['', ...lines(linked)] : []), ''].join(
    '\n',
  );
}
