import type { Scope } from '../../../platform/database/scope.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import type { Interval } from '../../core/intervals.ts';

/** The account whose primary calendar is read or written. */
export interface Account {
  scope: Scope;
  calendarId: string;
  connectionId: string;
}

/** An event as a calendar lists it. */
export interface ListedEvent {
  /** The provider's. */
  id: string;
  /** When it is, in milliseconds; null when it was deleted or cancelled. */
  time: Interval | null;
  /** Whether it blocks the host: false if it is free, declined or removed. */
  blocks: boolean;
  /** UUID of the booking in the tag of our own events. Copies of them carry it too. */
  bookingId: string | null;
  /** The provider's id of the series of which this event is an instance. */
  seriesId: string | null;
}

/** The range of a listing: all events that overlap a window, or the changes since an earlier listing. */
export type Listing = { kind: 'window'; window: Interval } | { kind: 'changes'; since: string };

export interface ListedPage {
  events: ListedEvent[];
  /** The next page; or, after the last one, the token from which later changes are listed. */
  next: { page: string } | { token: string };
}

/** The calendar event of a booking. */
export interface EntryToWrite extends Interval {
  /** UUID. */
  bookingId: string;
  title: string;
  /** Plain text. */
  description: string;
  location: string | null;
  attendee: { name: string; email: string };
  /** Whether the provider shall make a meeting link. */
  withMeeting: boolean;
  /** The provider's id of the event, where it was written before. */
  eventId: string | null;
  /** How often the booking was moved. The event keeps it, so that a write that arrives late is recognized. */
  revision: number;
}

/** The event of a booking as it is now. */
export interface FoundEvent extends Interval {
  /** The revision of the last write that arrived; null for an event that was written before there were revisions. */
  revision: number | null;
}

export interface WrittenEvent {
  eventId: string;
  meetingUrl: string | null;
}

/** The address to which a provider pushes changes of the calendar. */
export interface PushAddress {
  url: string;
  /** Comes back with every push. */
  token: string;
}

export interface PushChannel {
  id: string;
  /** The provider's name of the watched resource; null without one. */
  resource: string | null;
  endsAt: Date;
}

export interface CalendarCall {
  signal: AbortSignal;
  /** For the days of whole-day events, where the calendar does not say its zone. */
  timezone: string;
  /** What one reading learned on earlier pages; a client may keep things in it. */
  memory: Map<string, unknown>;
}

/**
 * A service that keeps calendars. Every method makes its requests once: retries are up to the caller.
 * @throws ProviderFailure, AuthExpired when access was withdrawn, CalendarGone, SyncTokenExpired of `list`
 */
export interface CalendarClient {
  list(account: Account, listing: Listing, page: string | null, call: CalendarCall): Promise<ListedPage>;
  /** Creates or changes the event of a booking. A second call writes no second event, whatever became of the first. */
  write(account: Account, entry: EntryToWrite, call: CalendarCall): Promise<WrittenEvent>;
  /**
   * Removes the event of a booking. A missing event is not a failure.
   * @param eventId the provider's; null where it is not known whether one was written
   */
  remove(account: Account, entry: { bookingId: string; eventId: string | null }, call: CalendarCall): Promise<void>;
  /** The event of a booking, also outside of every window that was listed. @returns null where it no longer exists */
  find(account: Account, entry: { bookingId: string; eventId: string }, call: CalendarCall): Promise<FoundEvent | null>;
  /** Undefined if the service does not push. @param channel the channel to replace or continue */
  watch?(
    account: Account,
    address: PushAddress,
    channel: PushChannel | undefined,
    call: CalendarCall,
  ): Promise<PushChannel>;
}

/** The place from which changes were to be listed is too old: everything has to be read again. */
export class SyncTokenExpired extends Error {
  override name = 'SyncTokenExpired';
}

/** The calendar no longer exists. */
export class CalendarGone extends Error {
  override name = 'CalendarGone';
}

/** The calendar has more events than are read of one. */
export class CalendarTooLarge extends ProviderFailure {
  override name = 'CalendarTooLarge';

  constructor(maxEvents: number) {
    const count = maxEvents.toLocaleString('en-US');
    super('invalid_request', `The calendar has more than ${count} events. Until it has fewer, its host is busy.`);
  }
}

/** The tag of our own events, as providers keep it. */
export const bookingTag = 'atelierBooking';
export const revisionTag = 'atelierRevision';

/** @param tag as the provider kept it */
export const revisionOf = (tag: string | undefined): number | null =>
  tag !== undefined && /^\d{1,9}$/.test(tag) ? Number(tag) : null;
