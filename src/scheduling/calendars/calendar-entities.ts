import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';
import type { CalendarStatus, Service } from '../core/calendar-status.ts';
import type { OutsideChange } from '../core/outside-change.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** A full reading that is under way: its pages are stored as they come, under a generation that is not used yet. */
export interface Baseline {
  generation: number;
  /** Milliseconds, as all times here. */
  beganAt: number;
  startsAt: number;
  endsAt: number;
  /** The provider's token of the next page; null before the first. */
  page: string | null;
  pages: number;
  events: number;
}

/** The primary calendar of an account that a host connected. */
export const Calendar = defineEntity({
  name: 'Calendar',
  tableName: 'calendar',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    hostId: p.uuid(),
    /** Its access: an account is connected once, so it has one calendar. */
    connectionId: p.uuid(),
    service: p.string().length(10).$type<Service>(),
    name: p.string().length(200),
    status: p.string().length(12).$type<CalendarStatus>(),
    /** Whether changes made in the calendar to our own events change the bookings. */
    followChanges: p.boolean(),
    lastSyncedAt: p.datetime().nullable(),
    lastErrorCode: p.string().length(40).nullable(),
    lastErrorMessage: p.string().length(500).nullable(),
    lastErrorAt: p.datetime().nullable(),
    /** Readers see the busy times of this generation, and of no other. */
    generation: p.integer(),
    /** Where the next incremental reading of this generation begins. */
    syncToken: p.text().nullable(),
    windowStartsAt: p.datetime().nullable(),
    windowEndsAt: p.datetime().nullable(),
    baselinedAt: p.datetime().nullable(),
    /** The sync that may write: an abandoned sync can no longer write. */
    syncId: p.uuid().nullable(),
    baseline: p.json<Baseline>().nullable(),
    /** The provider's push notifications. */
    channelId: p.string().length(200).nullable(),
    channelResource: p.string().length(500).nullable(),
    channelEndsAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [{ name: 'calendar_connection_unique', properties: ['connectionId'] }],
  indexes: [
    { name: 'calendar_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    { name: 'calendar_host_index', properties: ['hostId', 'createdAt', 'id'] },
  ],
});
export type Calendar = InferEntity<typeof Calendar>;

/** A time in which an event that is not a booking blocks the host. */
export const CalendarBusy = defineEntity({
  name: 'CalendarBusy',
  tableName: 'calendar_busy',
  filters: { tenant: tenantFilter },
  properties: {
    calendarId: p.uuid().primary(),
    generation: p.integer().primary(),
    /** The first 128 bits of SHA-256 of the provider's id: ids have up to 1,024 characters. */
    eventKey: p.uuid().primary(),
    ...tenant,
    startsAt: p.datetime(),
    endsAt: p.datetime(),
    /** Longer than two days. All others overlap a time only if they start near it. */
    isLong: p.boolean(),
  },
  indexes: [
    { name: 'calendar_busy_time_index', properties: ['calendarId', 'generation', 'startsAt'] },
    { name: 'calendar_busy_long_index', properties: ['calendarId', 'generation', 'startsAt'], where: 'is_long' },
  ],
});

/** The event of a booking in a calendar of its host. */
export const CalendarEntry = defineEntity({
  name: 'CalendarEntry',
  tableName: 'calendar_entry',
  filters: { tenant: tenantFilter },
  properties: {
    bookingId: p.uuid().primary(),
    ...tenant,
    calendarId: p.uuid(),
    eventId: p.string().length(1024),
    /** The version of the booking when it was written. */
    version: p.integer(),
    /** As we wrote them. */
    startsAt: p.datetime(),
    endsAt: p.datetime(),
    meetingUrl: p.string().length(2000).nullable(),
    isRemoved: p.boolean(),
    writtenAt: p.datetime(),
    /** The last baseline that found it. */
    seenGeneration: p.integer().nullable(),
    /** A change in the calendar, until it is settled. */
    outsideChange: p.json<OutsideChange>().nullable(),
    /** When settling a change was last tried. */
    settleTriedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'calendar_entry_event_index', properties: ['calendarId', 'eventId'] },
    { name: 'calendar_entry_outside_index', properties: ['calendarId'], where: 'outside_change is not null' },
  ],
});

/** The event of a booking in a calendar that lost its access before the booking was written to another calendar. */
export const LeftCalendarEntry = defineEntity({
  name: 'LeftCalendarEntry',
  tableName: 'left_calendar_entry',
  filters: { tenant: tenantFilter },
  properties: {
    calendarId: p.uuid().primary(),
    bookingId: p.uuid().primary(),
    ...tenant,
    eventId: p.string().length(1024),
  },
});

export const sandboxFaults = [
  'revoked',
  'unavailable',
  'rate_limited',
  'gone',
  'sync_token_expired',
  'partial_pages',
] as const;
export type SandboxFault = (typeof sandboxFaults)[number];

/** The stored calendar of a test key at the sandbox's service. */
export const SandboxCalendar = defineEntity({
  name: 'SandboxCalendar',
  tableName: 'sandbox_calendar',
  filters: { tenant: tenantFilter },
  properties: {
    calendarId: p.uuid().primary(),
    ...tenant,
    /** Raised by every change of its events. */
    version: p.integer(),
    /** Removals before this version are not stored: changes can be listed from here on. */
    oldestChange: p.integer(),
    fault: p.string().length(20).$type<SandboxFault>().nullable(),
    /** Whether a fault that happens once has happened. */
    faultIsSpent: p.boolean(),
  },
});

/** As it is put and shown. */
export interface SandboxEvent {
  id: string;
  /** RFC 3339; dates when it is of whole days. */
  start: string;
  end: string;
  title?: string | undefined;
  transparency?: 'opaque' | 'transparent' | undefined;
  status?: 'confirmed' | 'tentative' | 'cancelled' | undefined;
  allDay?: boolean | undefined;
  /** Our own events alone. */
  meetingUrl?: string | undefined;
  revision?: number | undefined;
}

export const SandboxCalendarEvent = defineEntity({
  name: 'SandboxCalendarEvent',
  tableName: 'sandbox_calendar_event',
  filters: { tenant: tenantFilter },
  properties: {
    calendarId: p.uuid().primary(),
    eventId: p.string().length(200).primary(),
    ...tenant,
    /** The calendar's when it was last changed. */
    version: p.integer(),
    /** Null once it was removed. */
    event: p.json<SandboxEvent>().nullable(),
    /** The booking of the event; null for events of other people. */
    bookingId: p.uuid().nullable(),
  },
});
