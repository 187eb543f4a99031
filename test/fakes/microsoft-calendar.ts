import { randomUUID } from 'node:crypto';
import {
  type CalendarRequest,
  type FakeCalendar,
  type FakeEvent,
  isWithin,
  noContent,
  occurrencesOf,
  ok,
  type Place,
  readPlace,
  startCalendarServer,
  writePlace,
} from './calendar-store.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** An error as Microsoft Graph words it. */
export const graphError = (status: number, code: string, headers?: Record<string, string>): WireAnswer => ({
  status,
  ...(headers && { headers }),
  body: { error: { code, message: code, innerError: { 'request-id': randomUUID() } } },
});

const base = '/v1.0/me';

const createdFrom = Date.UTC(2026, 0, 1);

const timeOf = (text: string) => ({ dateTime: `${text.replace(/Z$/, '').slice(0, 19)}.0000000`, timeZone: 'UTC' });
const dayOf = (text: string) => ({ dateTime: `${text.slice(0, 10)}T00:00:00.0000000`, timeZone: 'UTC' });

function shown(event: FakeEvent, type = 'singleInstance'): Json {
  const { id, start, end, allDay, free, declined, tentative, cancelled, zone, written } = event;
  return {
    ...written,
    '@odata.etag': 'W/"1"',
    id,
    type,
    subject: 'Nobody reads this.',
    isAllDay: allDay ?? false,
    showAs: free ? 'free' : tentative ? 'tentative' : 'busy',
    isCancelled: cancelled ?? false,
    responseStatus: { response: declined ? 'declined' : 'organizer', time: '0001-01-01T00:00:00Z' },
    originalStartTimeZone: zone ?? 'UTC',
    start: allDay ? dayOf(start) : timeOf(new Date(start).toISOString()),
    end: allDay ? dayOf(end) : timeOf(new Date(end).toISOString()),
  };
}

/** A series with its occurrences, which have their times alone; or the event itself. */
function listedAs(event: FakeEvent, from: string, to: string): Json[] {
  if (event.repeat === undefined) return isWithin(event, from, to) ? [shown(event)] : [];
  const occurrences = occurrencesOf(event).filter((one) => isWithin(one, from, to));
  const { start, end } = event.allDay ? { start: dayOf, end: dayOf } : { start: timeOf, end: timeOf };
  return [
    shown(event, 'seriesMaster'),
    ...occurrences.map((one) => ({
      id: one.id,
      type: 'occurrence',
      seriesMasterId: event.id,
      start: start(one.start),
      end: end(one.end),
    })),
  ];
}

function delta({ store, origin }: Pick<FakeCalendar, 'store' | 'origin'>, { url, headers }: CalendarRequest) {
  const { searchParams } = url;
  const prefer = String(headers.prefer ?? '');
  if (!prefer.includes('outlook.timezone="UTC"')) return graphError(400, 'ErrorInvalidRequest');
  const text = searchParams.get('$skiptoken') ?? searchParams.get('$deltatoken');
  const given = readPlace(text);
  if (given && given.until < store.oldest) return graphError(410, 'syncStateNotFound');
  const place: Place = searchParams.has('$skiptoken')
    ? given!
    : {
        since: given?.until ?? 0,
        until: store.version,
        offset: 0,
        from: given?.from ?? searchParams.get('startDateTime')!,
        to: given?.to ?? searchParams.get('endDateTime')!,
      };
  const all = store.listed(place.since).flatMap(({ id, event }): Json[] => {
    if (!event) return [{ '@removed': { reason: 'deleted' }, id }];
    const listed = listedAs(event, place.from, place.to);
    return listed.length > 0 || place.since === 0 ? listed : [{ '@removed': { reason: 'changed' }, id }];
  });
  const asked = Number(/odata\.maxpagesize=(\d+)/.exec(prefer)?.[1] ?? 10);
  const size = Math.min(store.perPage, asked);
  const offset = place.offset + size;
  const link = (name: string, at: Place) => `${origin}${base}/calendarView/delta?${name}=${writePlace(at)}`;
  const next =
    offset < all.length
      ? { '@odata.nextLink': link('$skiptoken', { ...place, offset }) }
      : { '@odata.deltaLink': link('$deltatoken', { ...place, offset: 0 }) };
  return ok({ '@odata.context': `${origin}/v1.0/$metadata`, value: all.slice(place.offset, offset), ...next });
}

function save(fake: Pick<FakeCalendar, 'store'>, id: string, body: Json, before?: FakeEvent): FakeEvent {
  const { start, end, ...rest } = body as Record<string, Json>;
  const instant = (time: Json | undefined) => time && `${String(time.dateTime).slice(0, 19)}Z`;
  const onlineMeeting = body.isOnlineMeeting
    ? { joinUrl: `https://teams.microsoft.com/l/meetup-join/${id}` }
    : (before?.written?.onlineMeeting ?? null);
  const createdDateTime = before?.written?.createdDateTime ?? new Date(createdFrom + fake.store.version).toISOString();
  const written = { ...before?.written, ...rest, createdDateTime, onlineMeeting };
  const event = { id, start: instant(start) ?? before!.start, end: instant(end) ?? before!.end, written };
  fake.store.put(event);
  return event;
}

const tagOf = ({ written }: FakeEvent): unknown =>
  (written?.singleValueExtendedProperties as { value: unknown }[] | undefined)?.[0]?.value;

/** The events with a tag, in no order that says which one is older: the last of all comes first. */
function tagged({ store, origin }: Pick<FakeCalendar, 'store' | 'origin'>, { searchParams }: URL): WireAnswer {
  const value = /ep\/value eq '([^']+)'/.exec(searchParams.get('$filter') ?? '')?.[1];
  const all = [...store.events.values()].map(({ event }) => event).filter((event) => tagOf(event) === value);
  const [skip, top] = [Number(searchParams.get('$skip') ?? 0), Number(searchParams.get('$top') ?? 10)];
  const end = skip + Math.min(store.perPage, top);
  const page = all.toReversed().slice(skip, end);
  const next = new URLSearchParams(searchParams);
  next.set('$skip', String(end));
  return ok({
    value: page.map((event) => ({ ...shown(event), createdDateTime: event.written?.createdDateTime })),
    ...(end < all.length && { '@odata.nextLink': `${origin}${base}/events?${next}` }),
  });
}

function events(
  fake: Pick<FakeCalendar, 'store' | 'origin'>,
  { method, url, body }: CalendarRequest,
  id: string,
): WireAnswer {
  const { store } = fake;
  const all = [...store.events.values()].map(({ event }) => event);
  if (id === '' && method === 'GET') return tagged(fake, url);
  if (id === '' && method === 'POST') {
    const same = all.find(({ written }) => body.transactionId && written?.transactionId === body.transactionId);
    return ok(shown(same ?? save(fake, `AAMk${randomUUID().replaceAll('-', '')}`, body)), 201);
  }
  const known = store.events.get(id)?.event;
  if (!known) return graphError(404, 'ErrorItemNotFound');
  if (method === 'GET') return ok(shown(known, known.repeat === undefined ? 'singleInstance' : 'seriesMaster'));
  if (method === 'PATCH') return ok(shown(save(fake, id, body, known)));
  store.remove(id);
  return noContent;
}

function subscriptions({ store }: Pick<FakeCalendar, 'store'>, { method, body }: CalendarRequest): WireAnswer {
  const expirationDateTime = String(body.expirationDateTime);
  if (method === 'PATCH') return ok({ id: 'subscription-1', expirationDateTime });
  const isGood = String(body.notificationUrl).startsWith('https://') && String(body.clientState).length <= 128;
  const tooLong = Date.parse(expirationDateTime) - Date.now() - store.skewMs > 7 * 86_400_000;
  if (!isGood || tooLong) return graphError(400, 'InvalidRequest');
  return ok({ id: 'subscription-1', expirationDateTime, resource: body.resource }, 201);
}

function answer(fake: Pick<FakeCalendar, 'store' | 'origin'>, request: CalendarRequest): WireAnswer {
  const { pathname } = request.url;
  if (fake.store.isGone) return graphError(404, 'MailboxNotEnabledForRESTAPI');
  if (pathname === `${base}/calendar`) return ok({ id: 'AAMk', owner: { name: 'Ada', address: 'ada@example.com' } });
  if (pathname.startsWith('/v1.0/subscriptions')) return subscriptions(fake, request);
  if (pathname === `${base}/calendarView/delta` && request.method === 'GET') return delta(fake, request);
  const id = new RegExp(`^${base}/events(?:/([^/]+))?$`).exec(pathname);
  return id ? events(fake, request, decodeURIComponent(id[1] ?? '')) : graphError(404, 'ResourceNotFound');
}

/** Outlook by Microsoft Graph, of one account. Its base URL ends with `/v1.0`. */
export const startFakeMicrosoftCalendar = (): Promise<FakeCalendar> =>
  startCalendarServer(answer, graphError(401, 'InvalidAuthenticationToken'));
