import { countOfTenant } from '../platform/parts/limit-use.ts';
import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { bookingEvents } from './core/events.ts';
import { blackoutIds, calendarIds, eventTypeIds, hostIds, patternIds } from './core/ids.ts';
import { schedulingLimits } from './core/plan-limits.ts';
import { findableScheduling } from './findable.ts';

export const schedulingDeclarations: OperatorDeclarations = {
  name: 'scheduling',
  scopes: [{ name: 'scheduling', position: 90 }],
  limits: schedulingLimits,
  limitUse: {
    hosts: { used: countOfTenant('scheduling_host where deleted_at is null and') },
    eventTypes: { used: countOfTenant('scheduling_event_type where deleted_at is null and') },
    recurringPatterns: { used: countOfTenant('recurring_pattern where') },
    blackoutPeriods: { used: countOfTenant('blackout_period where') },
  },
  events: bookingEvents,
  auditActions: {
    'event_type.create': eventTypeIds,
    'event_type.update': eventTypeIds,
    'event_type.delete': eventTypeIds,
    'host.create': hostIds,
    'host.update': hostIds,
    'host.delete': hostIds,
    'recurring_pattern.create': patternIds,
    'recurring_pattern.delete': patternIds,
    'blackout_period.create': blackoutIds,
    'blackout_period.delete': blackoutIds,
    // Settings belong to the organization.
    'business_hours.update': organizationIds,
    'booking_limits.update': organizationIds,
    'calendar.connect': calendarIds,
    'calendar.update': calendarIds,
    'calendar.delete': calendarIds,
  },
  findable: findableScheduling,
};
