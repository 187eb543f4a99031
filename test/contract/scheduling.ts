import { askThrice, type Caller } from './caller.ts';

const at = '/scheduling';
const attendee = { name: 'Grace', email: 'grace@example.com' };
// A Wednesday, far enough ahead for ever.
const start = '2036-06-11T09:00:00Z';

/** Everything of scheduling, on days that are all far ahead. */
export async function recordScheduling(caller: Caller): Promise<void> {
  const { ask } = caller;
  const post = (path: string, body: object, other: object) =>
    askThrice(caller, { endpoint: `POST ${at}/${path}`, body }, other);
  const idOf = (answer: { body: { data: { id: string } } }) => ({ id: answer.body.data.id });

  await ask({ endpoint: `GET ${at}/hosts` });
  const host = idOf(await post('hosts', { name: 'Room 1' }, { name: 'Room 2' }));
  await ask({
    endpoint: `PATCH ${at}/hosts/{id}`,
    ids: host,
    body: { timezone: 'Europe/Berlin', email: 'a@b.example' },
  });
  const given = { name: 'Intro call', duration: 30, bufferAfter: 10, hostId: host.id };
  const locations = [{ type: 'phone', number: '+49 30 1234567' }];
  const questions = [{ label: 'Company', type: 'text', required: true }];
  const eventType = idOf(await post('event-types', { ...given, locations, questions }, given));
  await ask({ endpoint: `POST ${at}/event-types`, what: 'with many things wrong', body: { name: '', duration: 0 } });
  const taken = { ...given, slug: 'intro-call' };
  await ask({ endpoint: `POST ${at}/event-types`, what: 'with a slug that is taken', body: taken });
  await ask({ endpoint: `GET ${at}/event-types` });
  await ask({ endpoint: `GET ${at}/event-types/{id}`, ids: eventType });
  await ask({ endpoint: `PATCH ${at}/event-types/{id}`, ids: eventType, body: { description: 'A talk.' } });
  await ask({ endpoint: `DELETE ${at}/hosts/{id}`, what: 'that an event type names', ids: host });

  const weeklyHours = { wednesday: ['09:00-12:00'] };
  const rules = { timezone: 'UTC', weeklyHours, hostId: host.id };
  await ask({ endpoint: `PUT ${at}/availability/rules`, body: rules });
  await ask({ endpoint: `GET ${at}/availability/rules` });
  const hours = { exceptions: [{ date: '2036-06-13', name: 'Open', hours: ['12:00-13:00'] }], holidays: ['DE-BY'] };
  await ask({ endpoint: `PUT ${at}/business-hours`, body: hours });
  await ask({ endpoint: `GET ${at}/business-hours` });
  const { id: eventTypeId } = eventType;
  const days = `?eventTypeId=${eventTypeId}&start=2036-06-11&end=2036-06-11`;
  const availability = { endpoint: `GET ${at}/availability`, what: 'of a day', unrecorded: true };
  await ask({ ...availability, query: days });

  const body = { eventTypeId, start, attendee, responses: { Company: 'Navy' }, metadata: { any: 1 } };
  const bookings = `POST ${at}/bookings`;
  await ask({ endpoint: bookings, query: '?dryRun=true', body });
  const booking = idOf(await post('bookings', body, { ...body, metadata: {} }));
  await ask({ endpoint: bookings, what: 'at a time that is taken', body });
  await ask({ endpoint: bookings, what: 'too close', body: { ...body, start: '2036-06-11T09:30:00Z' } });
  await ask({ endpoint: bookings, what: 'outside the hours', body: { ...body, start: '2036-06-11T15:00:00Z' } });
  await ask({ endpoint: bookings, what: 'in the past', body: { ...body, start: '2020-06-11T09:00:00Z' } });
  await ask({ endpoint: bookings, what: 'without an answer', body: { ...body, responses: {} } });
  await ask({ endpoint: bookings, what: 'of nothing', body: { ...body, eventTypeId: 'et_nothing' } });
  await ask({ endpoint: `GET ${at}/bookings/{id}`, ids: booking });
  await ask({ endpoint: `GET ${at}/bookings` });
  await ask({ endpoint: `GET ${at}/bookings`, query: '?status=CONFIRMED&start=2036-06-11&end=2036-06-11&limit=1' });
  await ask({ endpoint: `GET ${at}/bookings`, query: '?status=lost' });

  await ask({ endpoint: `PUT ${at}/rate-limits`, body: { dailyMax: 1 } });
  await ask({ endpoint: `PUT ${at}/rate-limits`, what: 'that contradict', body: { dailyMax: 2, weeklyMax: 1 } });
  await ask({ endpoint: `GET ${at}/rate-limits` });
  const limits = { endpoint: `GET ${at}/rate-limits/check`, unrecorded: true };
  await ask({ ...limits, query: `?eventTypeId=${eventTypeId}&date=2036-06-11` });
  await ask({ endpoint: bookings, what: 'over a limit', body: { ...body, start: '2036-06-11T11:00:00Z' } });
  await ask({ endpoint: `PUT ${at}/rate-limits`, what: 'none', body: {} });

  const move = { endpoint: `PATCH ${at}/bookings/{id}/reschedule`, ids: booking };
  await ask({ ...move, body: { newStart: '2036-06-18T09:00:00Z', reason: 'A clash.' } });
  await ask({ ...move, what: 'to a closed time', body: { newStart: '2036-06-19T09:00:00Z' } });
  const cancel = { endpoint: `DELETE ${at}/bookings/{id}`, ids: booking };
  await ask({ ...cancel, body: { reason: 'Not needed.' } });
  await ask({ ...cancel, what: 'again' });
  await ask({ ...move, what: 'that is cancelled', body: { newStart: '2036-06-25T09:00:00Z' } });

  const connect = `POST ${at}/calendars/connect`;
  await ask({ endpoint: connect, body: { service: 'google', hostId: host.id } });
  await ask({ endpoint: connect, what: 'of no service', body: {} });
  const redirectUrl = 'https://evil.example/';
  await ask({ endpoint: connect, what: 'that leads elsewhere', body: { service: 'outlook', redirectUrl } });

  const times = { timeStart: '12:00', timeEnd: '13:00', startDate: '2036-01-31' };
  const pattern = { name: 'Lunch', pattern: 'MONTHLY', ...times };
  const ids = idOf(await post('recurring-patterns', pattern, { ...pattern, name: 'Other' }));
  await ask({ endpoint: `GET ${at}/recurring-patterns` });
  await ask({ endpoint: `GET ${at}/recurring-patterns/{id}`, ids });
  await ask({ endpoint: `POST ${at}/recurring-patterns/{id}/generate`, ids, body: { count: 2 } });
  await ask({ endpoint: `DELETE ${at}/recurring-patterns/{id}`, ids });
  const blackout = { name: 'Closed', start: '2036-12-24', end: '2036-12-26', recurring: true };
  const closed = idOf(await post('blackout-periods', blackout, { ...blackout, name: 'Other' }));
  await ask({ endpoint: `GET ${at}/blackout-periods` });
  await ask({ endpoint: `GET ${at}/blackout-periods/{id}`, ids: closed });
  await ask({ endpoint: `DELETE ${at}/blackout-periods/{id}`, ids: closed });
  const hook = { url: 'https://hooks.example.com/b', events: ['booking.created'] };
  await post('webhooks', hook, { ...hook, events: ['booking.cancelled'] });
  await ask({ endpoint: `DELETE ${at}/event-types/{id}`, ids: eventType });
  await ask({ endpoint: `DELETE ${at}/hosts/{id}`, ids: host });
}
