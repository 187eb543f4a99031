import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { defaultReminders } from '../core/effects.ts';
import { eventTypeIds } from '../core/ids.ts';
import { bothLimits, type CalendarRules, type EventTypeRules, noLimits } from '../core/rules.ts';
import type { OfferedLocation, Question } from '../entities.ts';
import { eventTypeNotFound } from '../errors.ts';
import { defaultHost } from '../hosts.ts';
import { hoursOfHost, type StoredBusinessHours } from './settings-records.ts';

/** All data that decides about the times of an event type, except bookings. */
export interface Bookable {
  eventTypeId: string;
  hostId: string;
  /** Whether the host has connected calendars, whose busy times are to be read. */
  hasCalendars: boolean;
  locations: OfferedLocation[];
  questions: Question[];
  /** Minutes before the start. */
  reminders: readonly number[];
  eventType: EventTypeRules;
  rules: CalendarRules;
}

interface Row extends EventTypeRules, Omit<Bookable, 'eventType' | 'rules' | 'reminders'> {
  reminders: number[] | null;
  isDeleted: boolean;
  timezone: string;
  weeklyHours: CalendarRules['weeklyHours'];
  businessHours: StoredBusinessHours | null;
  limits: CalendarRules['limits'] | null;
  hostLimits: CalendarRules['limits'] | null;
  blackouts: CalendarRules['blackouts'];
  patterns: CalendarRules['patterns'];
}

const ofTenant = 'organization_id = :organizationId and environment = :environment';

// One statement, because every shown slot and every booking needs all of it.
const find = statement({
  name: 'scheduling.rules',
  parameters: { wanted: 'uuid[]', hostId: 'uuid?' },
  row: {
    eventTypeId: 'uuid',
    hostId: 'uuid',
    locations: typed<OfferedLocation[]>('json'),
    questions: typed<Question[]>('json'),
    reminders: typed<number[] | null>('jsonb?'),
    duration: 'int',
    bufferBefore: 'int',
    bufferAfter: 'int',
    minNotice: 'int',
    maxAdvance: 'int?',
    isActive: 'boolean',
    isDeleted: 'boolean',
    timezone: 'text',
    weeklyHours: typed<CalendarRules['weeklyHours']>('json?'),
    businessHours: typed<StoredBusinessHours | null>('json?'),
    limits: typed<CalendarRules['limits'] | null>('json?'),
    hostLimits: typed<CalendarRules['limits'] | null>('json?'),
    hasCalendars: 'boolean',
    blackouts: typed<CalendarRules['blackouts']>('jsonb'),
    patterns: typed<CalendarRules['patterns']>('jsonb'),
  },
  text: `select e.id as "eventTypeId", h.id as "hostId", e.locations, e.questions, e.reminders,
          e.duration, e.buffer_before as "bufferBefore", e.buffer_after as "bufferAfter", e.min_notice as "minNotice",
          e.max_advance as "maxAdvance", e.is_active and e.deleted_at is null as "isActive",
          e.deleted_at is not null as "isDeleted", h.timezone, h.weekly_hours as "weeklyHours",
          s.business_hours as "businessHours", s.limits, h.limits as "hostLimits",
          exists(select from calendar c where c.host_id = h.id) as "hasCalendars",
          (select coalesce(jsonb_agg(jsonb_build_object(
                    'start', starts, 'end', ends, 'allDay', all_day, 'recurring', recurring)), '[]')
             from blackout_period where ${ofTenant} and (host_id is null or host_id = h.id)) as blackouts,
          (select coalesce(jsonb_agg(jsonb_build_object(
                    'pattern', pattern, 'interval', every, 'daysOfWeek', days_of_week, 'timeStart', time_start,
                    'timeEnd', time_end, 'startDate', start_date, 'endDate', end_date, 'blockType', block_type)), '[]')
             from recurring_pattern where ${ofTenant}) as patterns
     from scheduling_event_type e
     join scheduling_host h on h.organization_id = :organizationId and h.environment = :environment
      and h.id = case when :hostId is not null then :hostId when e.host_id is not null then e.host_id
                      else (select id from scheduling_host where ${ofTenant} and is_default) end
     left join scheduling_settings s on s.organization_id = :organizationId and s.environment = :environment
    where e.organization_id = :organizationId and e.environment = :environment and e.id = any(:wanted)`,
});

const bookableOf = (row: Row): Bookable => {
  const { eventTypeId, hostId, hasCalendars, locations, questions, reminders, isDeleted: _, ...rest } = row;
  const { timezone, weeklyHours, businessHours: stored, blackouts, patterns, limits, hostLimits, ...eventType } = rest;
  const businessHours = stored && hoursOfHost(stored, hostId);
  const allLimits = bothLimits(limits ?? noLimits, hostLimits ?? noLimits);
  const rules = { timezone, weeklyHours, businessHours, blackouts, patterns, limits: allLimits };
  const offered = { locations, questions, reminders: reminders ?? defaultReminders };
  return { eventTypeId, hostId, hasCalendars, ...offered, eventType, rules };
};

/**
 * The rules of event types that are not deleted.
 * @param ids UUIDs
 * @returns by UUID; without those that are unknown or deleted
 */
export async function readBookables(scope: Scope, ids: readonly string[]): Promise<Map<string, Bookable>> {
  if (ids.length === 0) return new Map();
  const wanted = [...new Set(ids)];
  let rows = await scope.rows(find, { wanted, hostId: null });
  if (rows.length < wanted.length) {
    // Unknown, or the first one of a tenant without a default host.
    await defaultHost(scope);
    rows = await scope.rows(find, { wanted, hostId: null });
  }
  return new Map(rows.filter(({ isDeleted }) => !isDeleted).map((row) => [row.eventTypeId, bookableOf(row)]));
}

/**
 * The rules of an event type that is not deleted.
 * @param id in either form. @throws AppError not_found
 */
export async function readBookable(scope: Scope, id: string): Promise<Bookable> {
  const uuid = eventTypeIds.parse(id);
  const found = uuid && (await readBookables(scope, [uuid])).get(uuid);
  if (!found) throw eventTypeNotFound(id);
  return found;
}

/** The rules for an existing booking: those of its host, and of its event type even if that is deleted. */
export async function readBookableOf(
  scope: Scope,
  { eventTypeId, hostId }: { eventTypeId: string; hostId: string },
): Promise<Bookable> {
  return bookableOf((await scope.one(find, { wanted: [eventTypeId], hostId }))!);
}
