import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { StoredBusinessHours, Week } from './availability/settings-records.ts';
import type { BookingStatus } from './core/booking-status.ts';
import type { BookingLimits, PatternKind } from './core/rules.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };
const times = { createdAt: p.datetime(), updatedAt: p.datetime() };

/** Whose time is booked. The default one is there from the first read on. */
export const SchedulingHost = defineEntity({
  name: 'SchedulingHost',
  tableName: 'scheduling_host',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    name: p.string().length(200),
    email: p.string().length(254).nullable(),
    isDefault: p.boolean(),
    /** As it was sent. */
    timezone: p.string().length(64),
    weeklyHours: p.json<Week>().columnType('json'),
    /** The limits in addition to those of all hosts; null without any. */
    limits: p.json<BookingLimits>().columnType('json').nullable(),
    /** Until then the default host is called as its organization. */
    renamedAt: p.datetime().nullable(),
    ...times,
    deletedAt: p.datetime().nullable(),
  },
  uniques: [
    {
      name: 'scheduling_host_default_unique',
      properties: ['organizationId', 'environment'],
      where: 'is_default',
    },
  ],
  indexes: [
    { name: 'scheduling_host_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    { name: 'scheduling_host_deleted_index', properties: ['deletedAt'], where: 'deleted_at is not null' },
  ],
});
export type SchedulingHost = InferEntity<typeof SchedulingHost>;

/** What holds for all hosts of a tenant. */
export const SchedulingSettings = defineEntity({
  name: 'SchedulingSettings',
  tableName: 'scheduling_settings',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    businessHours: p.json<StoredBusinessHours>().columnType('json').nullable(),
    limits: p.json<BookingLimits>().columnType('json').nullable(),
    updatedAt: p.datetime(),
  },
});

export interface OfferedLocation {
  type: string;
  autoCreate?: boolean | undefined;
  number?: string | undefined;
  address?: string | undefined;
  url?: string | undefined;
}

export const questionTypes = ['text', 'textarea', 'email', 'phone', 'number', 'checkbox', 'select'] as const;

export interface Question {
  label: string;
  type: (typeof questionTypes)[number];
  required: boolean;
  options?: string[] | undefined;
}

/** A type of event that people can book. */
export const SchedulingEventType = defineEntity({
  name: 'SchedulingEventType',
  tableName: 'scheduling_event_type',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    /** Null: the default host. */
    hostId: p.uuid().nullable(),
    name: p.string().length(100),
    slug: p.string().length(100),
    description: p.text().nullable(),
    /** Minutes. */
    duration: p.integer(),
    bufferBefore: p.integer(),
    bufferAfter: p.integer(),
    /** Hours. */
    minNotice: p.integer(),
    /** Days; null for no limit. */
    maxAdvance: p.integer().nullable(),
    locations: p.json<OfferedLocation[]>().columnType('json'),
    questions: p.json<Question[]>().columnType('json'),
    /** Minutes before the start; null for the default. */
    reminders: p.json<number[]>().nullable(),
    /** Origins whose pages may show the booking page in a frame; null for none. */
    embedOrigins: p.array().nullable(),
    isActive: p.boolean(),
    ...times,
    /** The row stays for its bookings. */
    deletedAt: p.datetime().nullable(),
  },
  uniques: [
    {
      name: 'scheduling_event_type_slug_unique',
      properties: ['organizationId', 'environment', 'slug'],
      where: 'deleted_at is null',
    },
  ],
  indexes: [
    {
      name: 'scheduling_event_type_list_index',
      properties: ['organizationId', 'environment', 'createdAt', 'id'],
      where: 'deleted_at is null',
    },
    { name: 'scheduling_event_type_host_index', properties: ['hostId'], where: 'deleted_at is null' },
    { name: 'scheduling_event_type_any_host_index', properties: ['hostId'], where: 'host_id is not null' },
    { name: 'scheduling_event_type_deleted_index', properties: ['deletedAt'], where: 'deleted_at is not null' },
  ],
});
export type SchedulingEventType = InferEntity<typeof SchedulingEventType>;

/** A time that repeats, in which hosts can be booked or cannot. */
export const RecurringPattern = defineEntity({
  name: 'RecurringPattern',
  tableName: 'recurring_pattern',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    name: p.string().length(100),
    pattern: p.string().length(20).$type<PatternKind>(),
    interval: p.integer().name('every'),
    daysOfWeek: p.json<number[]>().nullable(),
    /** `HH:MM`, and dates as `YYYY-MM-DD`. */
    timeStart: p.string().length(5),
    timeEnd: p.string().length(5),
    startDate: p.string().length(10),
    endDate: p.string().length(10).nullable(),
    /** As sent. Everything but `available` means unavailable. */
    blockType: p.string().length(40),
    createdAt: p.datetime(),
  },
  indexes: [{ name: 'recurring_pattern_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] }],
});
export type RecurringPattern = InferEntity<typeof RecurringPattern>;

/** A time in which no host can be booked. */
export const BlackoutPeriod = defineEntity({
  name: 'BlackoutPeriod',
  tableName: 'blackout_period',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    /** Null: all hosts. */
    hostId: p.uuid().nullable(),
    name: p.string().length(100),
    /** Dates when it is of whole days, otherwise instants in UTC. */
    start: p.string().length(40).name('starts'),
    end: p.string().length(40).name('ends'),
    allDay: p.boolean(),
    recurring: p.boolean(),
    reason: p.text().nullable(),
    createdAt: p.datetime(),
  },
  indexes: [
    { name: 'blackout_period_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    { name: 'blackout_period_host_index', properties: ['hostId'], where: 'host_id is not null' },
  ],
});
export type BlackoutPeriod = InferEntity<typeof BlackoutPeriod>;

export interface BookedLocation {
  type: string;
  url: string | null;
}

/** A booked time of one host. Two confirmed bookings of a host never share a minute. */
export const Booking = defineEntity({
  name: 'Booking',
  tableName: 'booking',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    eventTypeId: p.uuid(),
    hostId: p.uuid(),
    status: p.string().length(10).$type<BookingStatus>(),
    startAt: p.datetime(),
    endAt: p.datetime(),
    /** With the buffers of the event type when it was booked. A constraint keeps holds of one host apart. */
    holdStartAt: p.datetime(),
    holdEndAt: p.datetime(),
    attendeeName: p.string().length(200),
    attendeeEmail: p.string().length(254),
    attendeePhone: p.string().length(40).nullable(),
    attendeeTimezone: p.string().length(64),
    location: p.json<BookedLocation>().columnType('json').nullable(),
    responses: p.json<Record<string, unknown>>().columnType('json'),
    metadata: p.json<Record<string, unknown>>().columnType('json'),
    previousStartAt: p.datetime().nullable(),
    previousEndAt: p.datetime().nullable(),
    rescheduleReason: p.string().length(500).nullable(),
    rescheduleCount: p.integer(),
    cancelledAt: p.datetime().nullable(),
    cancellationReason: p.string().length(500).nullable(),
    correlationId: p.string().length(128),
    /** Names its public page; null when the process that made it had no key for them. */
    token: p.string().length(22).nullable(),
    /** Names its page for the host; made with the first mail or calendar entry that has a link to it. */
    hostToken: p.string().length(22).nullable(),
    ...times,
  },
  uniques: [
    { name: 'booking_token_unique', properties: ['token'] },
    { name: 'booking_host_token_unique', properties: ['hostToken'], where: 'host_token is not null' },
  ],
  indexes: [
    { name: 'booking_any_host_index', properties: ['hostId'] },
    { name: 'booking_correlation_index', properties: ['correlationId'] },
    {
      name: 'booking_search_correlation_index',
      properties: ['organizationId', 'environment', 'correlationId', 'id'],
    },
    { name: 'booking_search_attendee_index', properties: ['organizationId', 'environment', 'attendeeEmail', 'id'] },
    { name: 'booking_list_index', properties: ['organizationId', 'environment', 'startAt', 'id'] },
    { name: 'booking_event_type_index', properties: ['eventTypeId', 'startAt', 'id'] },
    {
      name: 'booking_tenant_host_index',
      properties: ['organizationId', 'environment', 'hostId', 'startAt'],
      where: "status = 'confirmed'",
    },
    { name: 'booking_counted_index', properties: ['eventTypeId', 'startAt'], where: "status = 'confirmed'" },
  ],
});
export type Booking = InferEntity<typeof Booking>;
