import { z } from 'zod';
import { clock } from '../../../platform/clock.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import { CalendarHttp, type CalendarHttpOptions, CalendarRefusal, isStatus, meetingUrlOf } from './calendar-http.ts';
import { eventSchema, type MicrosoftEvent, readEvent, type Series } from './microsoft-events.ts';
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

/**
 * Outlook lists events with all their members: about a hundred values each, and ten more for each attendee. What
 * `readJson` takes in one answer is 40,000.
 */
const perPage = 50;
/** A page that lists events with only a few of their members may be longer. */
const perFoundPage = 500;
/** Outlook allows a little less than seven days. */
const channelMs = 6 * 86_400_000;
/** Ids that stay the same when an event is moved between folders, and times in UTC. */
const preferred = 'outlook.timezone="UTC", IdType="ImmutableId"';
const prefer = `${preferred}, odata.maxpagesize=${perFoundPage}`;
const preferPage = `${preferred}, odata.maxpagesize=${perPage}`;

const link = z.string().min(1).max(16_384);
const pageSchema = z.object({
  value: z.array(eventSchema).max(5_000),
  '@odata.nextLink': link.optional(),
  '@odata.deltaLink': link.optional(),
});

const writtenSchema = z.object({
  id: z.string().min(1).max(1_024),
  onlineMeeting: z.object({ joinUrl: z.string().nullish() }).nullish(),
});
const taggedSchema = eventSchema.extend({
  createdDateTime: z.string().nullish(),
  singleValueExtendedProperties: z.array(z.object({ id: z.string(), value: z.string().nullish() })).nullish(),
});
const foundSchema = z.object({ value: z.array(taggedSchema).max(5_000), '@odata.nextLink': link.optional() });
const foundFields = 'id,createdDateTime,isCancelled,isAllDay,originalStartTimeZone,start,end';
/** Maximum number of pages of events with our tag: people may have copied ours. */
const maxFoundPages = 20;
const channelSchema = z.object({ id: z.string().max(200), expirationDateTime: z.string() });
const errorSchema = z.object({ error: z.object({ code: z.string().optional() }) });

/** The id of an extended property in Microsoft Graph: its type, the GUID of our property set, and its name. */
const propertyId = (name: string) => `String {7d1c5b2e-5a0c-4c2e-9f43-3d8a6f0c9b11} Name ${name}`;
const tagId = propertyId(bookingTag);
const revisionId = propertyId(revisionTag);

const lostState = /^(syncStateNotFound|syncStateInvalid|resyncRequired|ErrorInvalidSyncStateData)$/i;

const meetingOf = ({ onlineMeeting }: z.infer<typeof writtenSchema>) => meetingUrlOf(onlineMeeting?.joinUrl);

/** Outlook's calendars by Microsoft Graph, version 1.0. Only the default calendar is read and written. */
export class MicrosoftCalendarClient implements CalendarClient {
  readonly #http: CalendarHttp;

  constructor(options: Omit<CalendarHttpOptions, 'title' | 'codesOf'>) {
    this.#http = new CalendarHttp({
      ...options,
      title: 'Microsoft Outlook',
      codesOf(body) {
        const { data } = errorSchema.safeParse(body);
        return data?.error.code === undefined ? [] : [data.error.code];
      },
    });
  }

  async list(account: Account, listing: Listing, page: string | null, call: CalendarCall): Promise<ListedPage> {
    const first = () => {
      if (listing.kind === 'changes') return listing.since;
      const { startsAt, endsAt } = listing.window;
      const [startDateTime, endDateTime] = [new Date(startsAt).toISOString(), new Date(endsAt).toISOString()];
      return `/me/calendarView/delta?${new URLSearchParams({ startDateTime, endDateTime })}`;
    };
    const headers = { prefer: preferPage };
    const request = { method: 'GET', path: page ?? first(), headers, signal: call.signal } as const;
    try {
      const answer = await this.#http.ask(account, request, pageSchema);
      const { '@odata.nextLink': nextLink, '@odata.deltaLink': deltaLink } = answer;
      if (nextLink === undefined && deltaLink === undefined) throw this.#http.malformed('no link');
      return {
        events: await this.#readAll(account, answer.value, call),
        next:
          nextLink !== undefined
            ? { page: this.#http.checkLink(nextLink) }
            : { token: this.#http.checkLink(deltaLink!) },
      };
    } catch (error) {
      if (!(error instanceof CalendarRefusal)) throw error;
      if (error.status === 410 || error.has(lostState)) {
        throw new SyncTokenExpired('Microsoft no longer accepts the sync token.');
      }
      if (error.status === 404) throw new CalendarGone('The calendar no longer exists.');
      throw this.#http.failureOf(error);
    }
  }

  async write(account: Account, entry: EntryToWrite, { signal }: CalendarCall): Promise<WrittenEvent> {
    const body = this.#bodyOf(entry);
    const headers = { prefer };
    const post = (transactionId?: string) =>
      this.#http.ask(
        account,
        {
          method: 'POST',
          path: '/me/events',
          headers,
          body: { ...body, ...(transactionId && { transactionId }) },
          signal,
        },
        writtenSchema,
      );
    const change = (id: string) =>
      this.#http.ask(account, { method: 'PATCH', path: this.#pathOf(id), headers, body, signal }, writtenSchema);
    try {
      // After a lost answer the id is not known: the event is found by our property.
      const id = entry.eventId ?? (await this.#find(account, entry.bookingId, signal));
      const changed =
        id === undefined
          ? undefined
          : await change(id).catch((error) => {
              if (isStatus(error, 404, 410)) return undefined;
              throw error;
            });
      const written =
        changed ??
        (await post(entry.bookingId).catch(async (error) => {
          if (!isStatus(error, 409)) throw error;
          // Another attempt was faster; or the event of this transaction was deleted.
          const found = await this.#find(account, entry.bookingId, signal);
          return found === undefined ? post() : change(found);
        }));
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
    try {
      const id = eventId ?? (await this.#find(account, bookingId, signal));
      if (id === undefined) return;
      const request = { method: 'DELETE', path: this.#pathOf(id), headers: { prefer }, signal } as const;
      await this.#http.ask(account, request, z.unknown());
    } catch (error) {
      if (isStatus(error, 404, 410)) return;
      throw this.#http.failureOf(error);
    }
  }

  /** By its tag: an event in the folder of deleted items may still have its id. */
  async find(
    account: Account,
    { bookingId, eventId }: { bookingId: string; eventId: string },
    { signal, timezone }: CalendarCall,
  ) {
    try {
      const event = (await this.#findTagged(account, bookingId, signal)).find(({ id }) => id === eventId);
      const time = event ? readEvent(event, undefined, timezone).time : null;
      const properties = event?.singleValueExtendedProperties ?? [];
      const kept = properties.find(({ id }) => id.toLowerCase() === revisionId.toLowerCase())?.value ?? undefined;
      return time && { ...time, revision: revisionOf(kept) };
    } catch (error) {
      throw this.#http.failureOf(error);
    }
  }

  async watch(
    account: Account,
    { url, token }: PushAddress,
    channel: PushChannel | undefined,
    { signal }: CalendarCall,
  ): Promise<PushChannel> {
    const expirationDateTime = new Date(clock.now() + channelMs).toISOString();
    const create = () =>
      this.#http.ask(
        account,
        {
          method: 'POST',
          path: '/subscriptions',
          signal,
          body: {
            changeType: 'created,updated,deleted',
            resource: '/me/events',
            expirationDateTime,
            notificationUrl: url,
            lifecycleNotificationUrl: url,
            clientState: token,
          },
        },
        channelSchema,
      );
    const renew = (id: string) => {
      const path = `/subscriptions/${encodeURIComponent(id)}`;
      return this.#http.ask(account, { method: 'PATCH', path, body: { expirationDateTime }, signal }, channelSchema);
    };
    try {
      const made = channel
        ? await renew(channel.id).catch((error) => {
            if (isStatus(error, 404, 410)) return create();
            throw error;
          })
        : await create();
      const endsAt = new Date(made.expirationDateTime);
      if (Number.isNaN(endsAt.getTime())) throw this.#http.malformed('expirationDateTime');
      return { id: made.id, resource: null, endsAt };
    } catch (error) {
      throw this.#http.failureOf(error);
    }
  }

  #pathOf(eventId: string): string {
    return `/me/events/${encodeURIComponent(eventId)}`;
  }

  /** Occurrences have only their times: the rest is in their series, which is usually on the same page. */
  async #readAll(account: Account, events: MicrosoftEvent[], { memory, timezone, signal }: CalendarCall) {
    const keep = (event: MicrosoftEvent) => {
      const { showAs, isCancelled, isAllDay, responseStatus, originalStartTimeZone } = event;
      const series: Series = { showAs, isCancelled, isAllDay, responseStatus, originalStartTimeZone };
      memory.set(event.id, series);
      return series;
    };
    for (const event of events) if (event.type === 'seriesMaster' && !event['@removed']) keep(event);
    const read: ListedEvent[] = [];
    for (const event of events) {
      const { seriesMasterId } = event;
      const lacks = event.type === 'occurrence' && seriesMasterId && !event['@removed'] && event.showAs == null;
      if (!lacks) {
        read.push(readEvent(event, undefined, timezone));
        continue;
      }
      const series =
        (memory.get(seriesMasterId) as Series | undefined) ??
        keep(await this.#readSeries(account, seriesMasterId, signal));
      read.push(readEvent(event, series, timezone));
    }
    return read;
  }

  /** A series that was deleted in between: its occurrences will be reported as removed. */
  async #readSeries(account: Account, id: string, signal: AbortSignal): Promise<MicrosoftEvent> {
    const select = 'id,showAs,isCancelled,isAllDay,responseStatus,originalStartTimeZone';
    const request = {
      method: 'GET',
      path: `${this.#pathOf(id)}?$select=${select}`,
      headers: { prefer },
      signal,
    } as const;
    try {
      return { ...(await this.#http.ask(account, request, eventSchema)), id };
    } catch (error) {
      if (isStatus(error, 404, 410)) return { id };
      throw error;
    }
  }

  /** The oldest event with our property: copies that others made of it have the property too. */
  async #find(account: Account, bookingId: string, signal: AbortSignal): Promise<string | undefined> {
    let oldest: { id: string; createdAt: number } | undefined;
    for (const { id, createdDateTime } of await this.#findTagged(account, bookingId, signal)) {
      const createdAt = Date.parse(createdDateTime ?? '') || Infinity;
      if (!oldest || createdAt < oldest.createdAt) oldest = { id, createdAt };
    }
    return oldest?.id;
  }

  /** The events of the calendar with our property. Microsoft does not sort what it filters by a property. */
  async #findTagged(account: Account, bookingId: string, signal: AbortSignal) {
    const property = `singleValueExtendedProperties/Any(ep: ep/id eq '${tagId}' and ep/value eq '${bookingId}')`;
    const query = new URLSearchParams({
      $filter: property,
      $select: foundFields,
      $expand: `singleValueExtendedProperties($filter=id eq '${revisionId}')`,
      $top: String(perFoundPage),
    });
    const found: z.infer<typeof taggedSchema>[] = [];
    let path: string | undefined = `/me/events?${query}`;
    for (let pages = 0; path !== undefined && pages < maxFoundPages; pages++) {
      const page: z.infer<typeof foundSchema> = await this.#http.ask(
        account,
        { method: 'GET', path, headers: { prefer }, signal },
        foundSchema,
      );
      found.push(...page.value);
      path = page['@odata.nextLink'];
    }
    return found;
  }

  #bodyOf({ bookingId, revision, startsAt, endsAt, title, description, location, withMeeting }: EntryToWrite) {
    const at = (time: number) => ({ dateTime: new Date(time).toISOString().slice(0, 19), timeZone: 'UTC' });
    return {
      subject: title,
      body: { contentType: 'text', content: description },
      showAs: 'busy',
      start: at(startsAt),
      end: at(endsAt),
      isReminderOn: false,
      ...(location !== null && { location: { displayName: location } }),
      singleValueExtendedProperties: [
        { id: tagId, value: bookingId },
        { id: revisionId, value: String(revision) },
      ],
      ...(withMeeting && { isOnlineMeeting: true, onlineMeetingProvider: 'teamsForBusiness' }),
    };
  }

  async #withLink(
    account: Account,
    { withMeeting }: EntryToWrite,
    written: z.infer<typeof writtenSchema>,
    signal: AbortSignal,
  ): Promise<WrittenEvent> {
    const eventId = written.id;
    if (!withMeeting) return { eventId, meetingUrl: null };
    const look = { method: 'GET', path: this.#pathOf(eventId), headers: { prefer }, signal } as const;
    const meetingUrl = meetingOf(written) ?? meetingOf(await this.#http.ask(account, look, writtenSchema));
    if (meetingUrl === null) {
      throw new ProviderFailure('unavailable', 'Microsoft Outlook has not made the meeting link yet.');
    }
    return { eventId, meetingUrl };
  }
}
