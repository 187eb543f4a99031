import type { ThingsOf } from '../openapi/document.ts';
import { addCalendar } from './calendar-rows.ts';

/** A host with a calendar, an event type of it with a booking, a pattern and a blackout period. */
export const schedulingThings: ThingsOf = async ({ client, database }) => {
  const make = async (path: string, body: object): Promise<string> =>
    (await client.post(`/api/v1/scheduling/${path}`, body)).body.data.id;
  const host = await make('hosts', { name: 'Mine' });
  const eventType = await make('event-types', { name: 'Mine', duration: 30, hostId: host });
  const attendee = { name: 'Grace', email: 'grace@example.com' };
  // A Wednesday, within the hours of a host for whom none were set.
  const booking = await make('bookings', { eventTypeId: eventType, start: '2036-06-11T09:00:00Z', attendee });
  const times = { timeStart: '12:00', timeEnd: '13:00', startDate: '2036-01-01' };
  const pattern = await make('recurring-patterns', { name: 'Mine', pattern: 'DAILY', ...times });
  const blackout = await make('blackout-periods', { name: 'Mine', start: '2036-12-24', end: '2036-12-26' });
  const calendar = await addCalendar(database, host);
  const of = (path: string, id: string) => ({ prefix: new RegExp(`/scheduling/${path}/`), parameter: 'id', id });
  return [
    of('hosts', host),
    of('event-types', eventType),
    of('bookings', booking),
    of('recurring-patterns', pattern),
    of('blackout-periods', blackout),
    of('calendars', calendar),
  ];
};
