import { z } from 'zod';
import { findTimezone } from '../../../platform/core/timezone.ts';
import { newId } from '../../../platform/ids.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import { CalendarHttp, type CalendarHttpOptions, CalendarRefusal, isStatus, meetingUrlOf } from './calendar-http.ts';
import { timeOfDays, timeOfInstants } from './event-times.ts';
import {
  type Account,
  bookingTag,
  type CalendarCall,
  type CalendarClient,
  CalendarGone,
  type EntryToWrite,
  type ListedEvent,
  type ListedPage,
  type Listing,
  type PushAddress,
  type PushChannel,
  revisionOf,
  revisionTag,
  SyncTokenExpired,
  type WrittenEvent,
} from './ports.ts';

// https://developers.google.com/workspace/calendar/api/v3/reference/events
const events = '/calendar/v3/calendars/primary/events';
const perPage = 1_000;
/** Google ends channels by itself; a week is well below its limit. */
const channelSeconds = 604_800;

const time = z.object({ date: z.string().optional(), dateTime: z.string().optional() });

const eventSchema = z.object({
  id: z.string().min(1).max(1_024),
  status: z.string().optional(),
  transparency: z.string().optional(),
  eventType: z.string().optional(),
  recurringEventId: z.string().max(1_024).optional(),
  start: time.optional(),
  end: time.optional(),
  attendees: z.array(z.object({ self: z.boolean().optional(), responseStatus: z.string().optional() })).optional(),
  extendedProperties: z.object({ private: z.record(z.string(), z.string()).optional() }).optional(),
});
type GoogleEvent = z.infer<typeof eventSchema>;

const pageSchema = z.object({
  timeZone: z.string().optional(),
  items: z.array(eventSchema).max(perPage).default([]),
  nextPageToken: z.string().min(1).max(8_192).optional(),
  nextSyncToken: z.string().min(1).max(8_192).optional(),
});

/** The fields that are read: no other data of an event leaves Google. */
const fields = [
  'timeZone,nextPageToken,nextSyncToken',
  'items(id,status,transparency,eventType,recurringEventId,start,end,attendees(self,responseStatus)',
  'extendedProperties/private)',
].join(',');

const writtenSchema = z.object({
  id: z.string().min(1).max(1_024),
  hangoutLink: z.string().optional(),
  conferenceData: z
    .object({
      createRequest: z.object({ status: z.object({ statusCode: z.string().optional() }).optional() }).optional(),
      entryPoints: z.array(z.object({ entryPointType: z.string().optional(), uri: z.string().optional() })).optional(),
    })
    .optional(),
});

const channelSchema = z.object({ id: z.string(), resourceId: z.string().max(500), expiration: z.coerce.number() });

const errorSchema = z.object({
  error: z.object({
    status: z.string().optional(),
    errors: z.array(z.object({ reason: z.string().optional() })).default([]),
  }),
});

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Ours to choose: letters a to v and digits. The id of one booking is always the same, so it is never written twice. */
const eventIdOf = (bookingId: string) => `atl${bookingId.replaceAll('-', '')}`;

function read(event: GoogleEvent, timezone: string): ListedEvent {
  const { id, status, start, end, attendees, transparency, eventType, extendedProperties } = event;
  const tag = extendedProperties?.private?.[bookingTag];
  const bookingId = tag !== undefined && uuidPattern.test(tag) ? tag : null;
  const at =
    status === 'cancelled'
      ? null
      : start?.dateTime !== undefined
        ? timeOfInstants(start.dateTime, end?.dateTime ?? '')
        : timeOfDays(start?.date ?? '', end?.date ?? '', timezone);
  const isDeclined = attendees?.some(({ self, responseStatus }) => self && responseStatus === 'declined') ?? false;
  // Working locations are reported as events too.
  const isFree = transparency === 'transparent' || eventType === 'workingLocation';
  const blocks = at !== null && !isFree && !isDeclined;
  return { id, time: at, blocks, bookingId, seriesId: event.recurringEventId ?? null };
}

function meetingOf({ conferenceData, hangoutLink }: z.infer<typeof writtenSchema>): string | null {
  const video = conferenceData?.entryPoints?.find(({ entryPointType }) => entryPointType === 'video')?.uri;
  return meetingUrlOf(video ?? hangoutLink);
}

/** Google Calendar, version 3. Only the primary calendar is read and written. */
export class GoogleCalendarClient implements CalendarClient {
  readonly #http: CalendarHttp;

  constructor(options: Omit<CalendarHttpOptions, 'title' | 'codesOf'>) {
    this.#http = new CalendarHttp({
      ...options,
      title: 'Google Calendar',
      codesOf(body) {
        const { data } = errorSchema.safeParse(body);
        return data ? data.error.errors.flatMap(({ reason }) => reason ?? []) : [];
      },
    });
  }

  async list(account: Account, listing: Listing, page: string | null, call: CalendarCall): Promise<ListedPage> {
    const { signal, timezone } = call;
    const query = new URLSearchParams({ singleEvents: 'true', maxResults: String(perPage), maxAttendees: '1', fields });
    if (listing.kind === 'window') {
      query.set('timeMin', new Date(listing.window.startsAt).toISOString());
      query.set('timeMax', new Date(listing.window.endsAt).toISOString());
    } else query.set('syncToken', listing.since);
    if (page !== null) query.set('pageToken', page);
    const isContinued = page !== null || listing.kind === 'changes';
    try {
      const answer = await this.#http.ask(account, { method: 'GET', path: `${events}?${query}`, signal }, pageSchema);
      const zone = findTimezone(answer.timeZone ?? '') ?? timezone;
      const { nextPageToken, nextSyncToken } = answer;
      if (nextPageToken === undefined && nextSyncToken === undefined) throw this.#http.malformed('no token');
      return {
        events: answer.items.map((event) => read(event, zone)),
        next: nextPageToken !== undefined ? { page: nextPageToken } : { token: nextSyncToken! },
      };
    } catch (error) {
      if (!(error instanceof CalendarRefusal)) throw error;
      // A page token that has expired is reported as an invalid parameter.
      if (error.status === 410 || (error.status === 400 && isContinued)) {
        throw new SyncTokenExpired('Google no longer accepts the sync token.');
      }
      if (error.status === 404) throw new CalendarGone('The calendar no longer exists.');
      throw this.#http.failureOf(error);
    }
  }

  async write(account: Account, entry: EntryToWrite, { signal }: CalendarCall): Promise<WrittenEvent> {
    const id = entry.eventId ?? eventIdOf(entry.bookingId);
    const query = 'conferenceDataVersion=1&sendUpdates=none';
    const body = this.#bodyOf(entry);
    const insert = () =>
      this.#http.ask(
        account,
        { method: 'POST', path: `${events}?${query}`, body: { id, ...body }, signal },
        writtenSchema,
      );
    const change = () =>
      this.#http.ask(
        account,
        { method: 'PATCH', path: `${events}/${encodeURIComponent(id)}?${query}`, body, signal },
        writtenSchema,
      );
    // 409: an event with this id exists. 404: it no longer exists.
    const [first, second, other] = entry.eventId === null ? [insert, change, 409] : [change, insert, 404];
    try {
      const written = await first().catch((error: unknown) => {
        if (isStatus(error, other)) return second();
        throw error;
      });
      return await this.#withLink(account, entry, written, signal);
    } catch (error) {
      throw this.#http.failureOf(error);
    }
  }

  async remove(
    account: Account,
    { bookingId, eventId }: { bookingId: string; eventId: string | null },
    { signal }: CalendarCall,
  ): Promise<void> {
    const path = `${events}/${encodeURIComponent(eventId ?? eventIdOf(bookingId))}?sendUpdates=none`;
    try {
      await this.#http.ask(account, { method: 'DELETE', path, signal }, z.unknown());
    } catch (error) {
      if (isStatus(error, 404, 410)) return;
      throw this.#http.failureOf(error);
    }
  }

  async find(account: Account, { eventId }: { eventId: string }, { signal, timezone }: CalendarCall) {
    const path = `${events}/${encodeURIComponent(eventId)}?fields=id,status,start,end,extendedProperties/private`;
    try {
      const event = await this.#http.ask(account, { method: 'GET', path, signal }, eventSchema);
      const { time: at } = read(event, timezone);
      return at && { ...at, revision: revisionOf(event.extendedProperties?.private?.[revisionTag]) };
    } catch (error) {
      if (isStatus(error, 404, 410)) return null;
      throw this.#http.failureOf(error);
    }
  }

  async watch(
    account: Account,
    { url, token }: PushAddress,
    channel: PushChannel | undefined,
    { signal }: CalendarCall,
  ): Promise<PushChannel> {
    const body = { id: newId(), type: 'web_hook', address: url, token, params: { ttl: String(channelSeconds) } };
    try {
      const made = await this.#http.ask(
        account,
        { method: 'POST', path: `${events}/watch`, body, signal },
        channelSchema,
      );
      // The one before ends by itself if this fails.
      if (channel) {
        const before = { id: channel.id, resourceId: channel.resource };
        const stop = { method: 'POST', path: '/calendar/v3/channels/stop', body: before, signal } as const;
        await this.#http.ask(account, stop, z.unknown()).catch(() => {});
      }
      return { id: made.id, resource: made.resourceId, endsAt: new Date(made.expiration) };
    } catch (error) {
      throw this.#http.failureOf(error);
    }
  }

  #bodyOf({ bookingId, revision, startsAt, endsAt, title, description, location, withMeeting }: EntryToWrite) {
    return {
      status: 'confirmed',
      summary: title,
      description,
      ...(location !== null && { location }),
      start: { dateTime: new Date(startsAt).toISOString(), timeZone: 'UTC' },
      end: { dateTime: new Date(endsAt).toISOString(), timeZone: 'UTC' },
      extendedProperties: { private: { [bookingTag]: bookingId, [revisionTag]: String(revision) } },
      // The same request creates one link, however often it is sent.
      ...(withMeeting && {
        conferenceData: {
          createRequest: { requestId: eventIdOf(bookingId), conferenceSolutionKey: { type: 'hangoutsMeet' } },
        },
      }),
    };
  }

  /** Google creates links asynchronously; an event whose creation fails stays without a link. */
  async #withLink(
    account: Account,
    { withMeeting }: EntryToWrite,
    written: z.infer<typeof writtenSchema>,
    signal: AbortSignal,
  ): Promise<WrittenEvent> {
    const eventId = written.id;
    if (!withMeeting) return { eventId, meetingUrl: null };
    const isPending = (event: typeof written) =>
      meetingOf(event) === null && event.conferenceData?.createRequest?.status?.statusCode === 'pending';
    const path = `${events}/${encodeURIComponent(eventId)}`;
    const now = isPending(written)
      ? await this.#http.ask(account, { method: 'GET', path, signal }, writtenSchema)
      : written;
    if (isPending(now)) throw new ProviderFailure('unavailable', 'Google Calendar has not made the meeting link yet.');
    return { eventId, meetingUrl: meetingOf(now) };
  }
}
