// This file is generated from the OpenAPI document.

import { Resource } from '../../core/resource.ts';
import { SchedulingEventTypes } from './scheduling-event-types.ts';
import { SchedulingAvailability } from './scheduling-availability.ts';
import { SchedulingBusinessHours } from './scheduling-business-hours.ts';
import { SchedulingBookings } from './scheduling-bookings.ts';
import { SchedulingRecurringPatterns } from './scheduling-recurring-patterns.ts';
import { SchedulingBlackoutPeriods } from './scheduling-blackout-periods.ts';
import { SchedulingRateLimits } from './scheduling-rate-limits.ts';
import { SchedulingHosts } from './scheduling-hosts.ts';
import { SchedulingCalendars } from './scheduling-calendars.ts';
import { SchedulingWebhooks } from './scheduling-webhooks.ts';

export class Scheduling extends Resource {
  readonly eventTypes = new SchedulingEventTypes(this.transport);
  readonly availability = new SchedulingAvailability(this.transport);
  readonly businessHours = new SchedulingBusinessHours(this.transport);
  readonly bookings = new SchedulingBookings(this.transport);
  readonly recurringPatterns = new SchedulingRecurringPatterns(this.transport);
  readonly blackoutPeriods = new SchedulingBlackoutPeriods(this.transport);
  readonly rateLimits = new SchedulingRateLimits(this.transport);
  readonly hosts = new SchedulingHosts(this.transport);
  readonly calendars = new SchedulingCalendars(this.transport);
  readonly webhooks = new SchedulingWebhooks(this.transport);
}
