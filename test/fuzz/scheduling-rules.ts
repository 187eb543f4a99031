import fc from 'fast-check';
import type { ApiClient } from '../api-client.ts';
import type { Things } from '../openapi/document.ts';
import { oneOf, type Rule, type WordedRule } from './schema-arbitrary.ts';

const replaced = (more: Record<string, unknown[]>): Rule => {
  const chosen = fc.record(Object.fromEntries(Object.entries(more).map(([name, values]) => [name, oneOf(...values)])));
  return (all) => fc.tuple(all, chosen).map(([one, given]) => ({ ...(one as object), ...given }));
};

const zones = oneOf('UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Etc/GMT+12');
const instants = oneOf('2040-06-12T09:00:00Z', '2040-06-12T09:30+05:30', '2040-06-12t09:00:00.000z');
const emails = oneOf('ada@example.com', "o'hara+x@mail.example.org");
// At most five may have one address.
const hooks = fc.uuid().map((uuid) => `https://${uuid}.example.com/x`);

const ownLabels: Rule = (lists) =>
  lists.map((list) => [...new Map((list as { label: string }[]).map((one) => [one.label, one])).values()]);

const ownIds: Rule = (lists) =>
  lists.map((list) => [...new Map((list as { id: string }[]).map((one) => [one.id, one])).values()]);
const withTimes: Rule = (events) =>
  events.map((event) => {
    const one = event as { allDay?: boolean };
    const [start, end] = one.allDay
      ? ['2040-06-12', '2040-06-14']
      : ['2040-06-12T09:00:00Z', '2040-06-12T15:00:30.5+05:30'];
    return { ...one, start, end };
  });

/** The rules of scheduling that no schema can say, as in `documented-requests.test.ts`. */
export const schedulingRules: WordedRule[] = [
  {
    at: [
      'TimeZone',
      'NewHost.timezone',
      'HostChange.timezone',
      'NewBusinessHours.timezone',
      'NewAttendee.timezone',
      'NewAvailabilityRules.timezone',
    ],
    words: /TimeZone|A name of the tz database/,
    follow: () => zones,
  },
  {
    at: ['HourRange'],
    words: /its end after its start/,
    follow: () => oneOf('09:00-17:00', '00:00-24:00', '08:30-23:59'),
  },
  { at: ['NewBooking.start', 'BookingReschedule.newStart'], words: /in whole minutes/, follow: () => instants },
  { at: ['NewAttendee.email', 'NewHost.email', 'HostChange.email'], words: /email/, follow: () => emails },
  {
    at: [
      'OrganizationChange.name',
      'NewAttendee.name',
      'NewAttendee.phone',
      'NewEventType.name',
      'EventTypeChange.name',
      'NewHost.name',
      'HostChange.name',
    ],
    words: /Without control characters/,
    follow: () => oneOf('Ada', '名前', "O'Hara <x>"),
  },
  {
    at: ['NewCalendarConsent'],
    words: /Either `service` or `provider` is required/,
    follow: replaced({ service: ['google', 'outlook'] }),
  },
  {
    at: ['NewCalendarConsent.redirectUrl'],
    words: /one of the organization's allowed addresses/,
    follow: () => fc.constant(undefined),
  },
  {
    at: ['NewCalendarConsent.loginHint'],
    words: /without control characters/,
    follow: () => oneOf('ada@example.com', 'Größe 🦊'),
  },
  { at: ['BookingQuestion'], words: /A select has options/, follow: replaced({ options: [['a', 'b']] }) },
  {
    at: ['NewEventType.questions', 'EventTypeChange.questions'],
    words: /Each has a label of its own/,
    follow: ownLabels,
  },
  { at: ['SandboxEvent'], words: /RFC 3339 with `Z` or an offset; dates when `allDay` is true/, follow: withTimes },
  { at: ['SandboxCalendarInput.events'], words: /Each has an id of its own/, follow: ownIds },
  { at: ['OccurrenceRange.fromDate'], words: /a date that exists/, follow: () => oneOf('2040-02-29', '1970-01-01') },
  {
    at: ['NewRecurringPattern'],
    words: /`timeEnd` is after `timeStart`, and `endDate` not before `startDate`/,
    follow: replaced({
      timeStart: ['00:00', '09:30'],
      timeEnd: ['10:00', '24:00'],
      startDate: ['2040-01-31'],
      endDate: [null, '2041-01-01'],
    }),
  },
  {
    at: ['NewBlackoutPeriod.hostId', 'NewBookingLimits.hostId'],
    words: /The host that it applies to/,
    follow: () => oneOf(null, undefined),
  },
  {
    at: ['NewBlackoutPeriod'],
    words: /The end is not before the start, and at most 366 days after it/,
    follow: (all) =>
      all.map((one) => {
        const isOfDays = (one as { allDay?: boolean }).allDay ?? true;
        const times = isOfDays
          ? { start: '2040-12-24', end: '2041-01-02' }
          : { start: '2040-06-12T09:00:00Z', end: '2040-06-13T09:00:00+02:00' };
        return { ...(one as object), ...times };
      }),
  },
  {
    at: ['NewBookingLimits'],
    words: /The limit of a longer period is not below that of a shorter one/,
    follow: replaced({ dailyMax: [1, null], weeklyMax: [5, null], monthlyMax: [9, null] }),
  },
  {
    at: ['NewBusinessHours.exceptions'],
    words: /A date has at most one exception/,
    follow: () =>
      oneOf(
        [],
        [
          { date: '2040-06-12', hours: ['10:00-11:00'] },
          { date: '2040-06-13', hours: null },
        ],
      ),
  },
  {
    at: ['NewBusinessHours.holidays'],
    words: /codes of countries/,
    follow: () => oneOf([], ['DE'], ['us', 'de-by']),
  },
  {
    at: ['NewBookingWebhook.events'],
    words: /Event types: booking\.created/,
    follow: () => oneOf(['booking.created'], ['booking.cancelled', 'booking.rescheduled']),
  },
  { at: ['NewBookingWebhook.url'], words: /a public address/, follow: () => hooks },
];

/** What requests change. Bookings are left out: most times that are drawn are refused, as they should be. */
export async function schedulingTargets(client: ApiClient): Promise<Things> {
  const make = async (path: string, body: object) => ({
    prefix: new RegExp(`/scheduling/${path}/`),
    parameter: 'id',
    id: (await client.post(`/api/v1/scheduling/${path}`, body)).body.data.id as string,
  });
  const times = { timeStart: '09:00', timeEnd: '10:00', startDate: '2040-01-31' };
  return [
    await make('hosts', { name: 'target' }),
    await make('event-types', { name: 'target', duration: 30 }),
    await make('recurring-patterns', { name: 'target', pattern: 'MONTHLY', ...times }),
  ];
}

/** The same for parameters, by operation. */
export const schedulingParameters: Record<string, fc.Arbitrary<unknown>> = {
  'getAvailability.start': oneOf('2040-06-01', '2040-05-30'),
  'getAvailability.end': oneOf('2040-06-01', '2040-08-20'),
  'getAvailability.timezone': zones,
  'checkBookingLimits.date': oneOf('2040-06-01', '1970-01-01'),
  'listBookings.start': oneOf('2040-06-01'),
  'listBookings.end': oneOf('2040-06-01', '9999-12-31'),
};
