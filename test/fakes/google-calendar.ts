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

/** An error as the Calendar API words it. */
export const googleCalendarError = (status: number, reason: string, headers?: Record<string, string>): WireAnswer => ({
  status,
  ...(headers && { headers }),
  body: { error: { code: status, message: reason, errors: [{ domain: 'calendar', reason, message: reason }] } },
});

const base = '/calendar/v3/calendars/primary/events';

function shown(event: FakeEvent): Json {
  const { id, start, end, allDay, free, declined, tentative, cancelled, series, written } = event;
  const status = cancelled ? 'cancelled' : tentative ? 'tentative' : 'confirmed';
  return {
    kind: 'calendar#event',
    ...written,
    id,
    status,
    summary: 'Nobody reads this.',
    start: allDay ? { date: start } : { dateTime: start, timeZone: 'UTC' },
    end: allDay ? { date: end } : { dateTime: end, timeZone: 'UTC' },
    ...(series !== undefined && { recurringEventId: series }),
    ...(free && { transparency: 'transparent' }),
    ...(declined && { attendees: [{ email: 'ada@example.com', self: true, responseStatus: 'declined' }] }),
  };
}

function list({ store }: Pick<FakeCalendar, 'store'>, { searchParams }: URL): WireAnswer {
  const [syncToken, pageToken] = [searchParams.get('syncToken'), searchParams.get('pageToken')];
  if (searchParams.get('singleEvents') !== 'true') return googleCalendarError(400, 'invalid');
  const restricted = ['timeMin', 'timeMax', 'q', 'orderBy', 'updatedMin'];
  if (syncToken !== null && restricted.some((name) => searchParams.has(name)))
    return googleCalendarError(400, 'invalid');
  const begun = readPlace(syncToken);
  if (syncToken !== null && (!begun || begun.until < store.oldest)) return googleCalendarError(410, 'fullSyncRequired');
  const paged = readPlace(pageToken);
  if (pageToken !== null && (!paged || paged.until < store.oldest)) return googleCalendarError(400, 'invalid');
  const place: Place = paged ?? {
    since: begun?.until ?? 0,
    until: store.version,
    offset: 0,
    from: begun?.from ?? searchParams.get('timeMin') ?? '1970-01-01T00:00:00Z',
    to: begun?.to ?? searchParams.get('timeMax') ?? '9999-01-01T00:00:00Z',
  };
  const all = store.listed(place.since).flatMap(({ id, event }): Json[] => {
    if (!event) return [{ kind: 'calendar#event', id, status: 'cancelled' }];
    if (event.cancelled && place.since === 0) return [];
    return occurrencesOf(event)
      .filter((one) => isWithin(one, place.from, place.to))
      .map(shown);
  });
  const size = Math.min(store.perPage, Number(searchParams.get('maxResults') ?? 250));
  const items = all.slice(place.offset, place.offset + size);
  const offset = place.offset + size;
  const next =
    offset < all.length
      ? { nextPageToken: writePlace({ ...place, offset }) }
      : { nextSyncToken: writePlace({ ...place, offset: 0 }) };
  return ok({ kind: 'calendar#events', timeZone: store.timezone, items, ...next });
}

function save(fake: Pick<FakeCalendar, 'store'>, id: string, body: Json, before?: FakeEvent): WireAnswer {
  const { start, end, status, conferenceData: asked, ...rest } = body as Record<string, Json>;
  const requestId = (asked?.createRequest as Json | undefined)?.requestId;
  const conferenceData = requestId
    ? {
        createRequest: { requestId, status: { statusCode: 'success' } },
        entryPoints: [{ entryPointType: 'video', uri: `https://meet.google.com/${String(requestId).slice(0, 12)}` }],
      }
    : before?.written?.conferenceData;
  const written = { ...before?.written, ...rest, ...(conferenceData !== undefined && { conferenceData }) };
  const event: FakeEvent = {
    id,
    start: String(start?.dateTime ?? before?.start),
    end: String(end?.dateTime ?? before?.end),
    written,
    ...((status as unknown) === 'cancelled' && { cancelled: true }),
  };
  fake.store.put(event);
  return ok(shown(event));
}

function answer(fake: Pick<FakeCalendar, 'store'>, { method, url, body }: CalendarRequest): WireAnswer {
  const { store } = fake;
  if (url.pathname === '/calendar/v3/calendars/primary') return ok({ id: 'ada@example.com', summary: 'Ada' });
  if (url.pathname === '/calendar/v3/channels/stop') return noContent;
  if (!url.pathname.startsWith(base) || store.isGone) return googleCalendarError(404, 'notFound');
  const id = decodeURIComponent(url.pathname.slice(base.length + 1));
  if (id === 'watch') {
    const { id: channel, address, token, params } = body;
    if (!String(address).startsWith('https://') || !token) return googleCalendarError(400, 'channelUnknown');
    const ends = Date.now() + store.skewMs + Number(params?.ttl ?? 3_600) * 1_000;
    return ok({ kind: 'api#channel', id: channel, resourceId: 'resource-1', expiration: String(ends) });
  }
  if (id === '' && method === 'GET') return list(fake, url);
  if (id === '' && method === 'POST') {
    if (!/^[a-v0-9]{5,1024}$/.test(body.id)) return googleCalendarError(400, 'invalid');
    const isKnown = store.events.has(body.id) || store.removed.has(body.id);
    return isKnown ? googleCalendarError(409, 'duplicate') : save(fake, body.id, body);
  }
  const known = store.events.get(id)?.event;
  // A deleted event can be changed back: it is one with the status cancelled.
  const isDeleted = store.removed.has(id);
  if (!known && !(isDeleted && method === 'PATCH')) return googleCalendarError(isDeleted ? 410 : 404, 'notFound');
  if (method === 'GET') return ok(shown(known!));
  if (method === 'PATCH') return save(fake, id, body, known);
  if (method !== 'DELETE') return googleCalendarError(404, 'notFound');
  store.remove(id);
  return noContent;
}

/** Google Calendar, of one account. */
export const startFakeGoogleCalendar = (): Promise<FakeCalendar> =>
  startCalendarServer(answer, googleCalendarError(401, 'authError'));
