import { blackoutIds, bookingIds, eventTypeIds, hostIds, patternIds } from '../../../../src/scheduling/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { bookingEventDocuments } from '../../../schemas/scheduling/events.ts';
import { availabilityRoutes } from './availability.ts';
import { blackoutRoutes } from './blackouts.ts';
import { bookingRoutes } from './bookings.ts';
import { calendarConsentRoutes } from './calendar-consents.ts';
import { eventTypeRoutes } from './event-types.ts';
import { hostRoutes } from './hosts.ts';
import { hoursRoutes } from './hours.ts';
import { limitRoutes } from './limits.ts';
import { patternRoutes } from './patterns.ts';
import { bookingWebhookRoutes } from './webhooks.ts';

export const scheduling: ApiFeature = {
  tags: [{ name: 'Scheduling', description: 'Offer times of hosts, and book, move and cancel them.' }],
  ids: [eventTypeIds, bookingIds, hostIds, patternIds, blackoutIds],
  routes: (services) => [
    eventTypeRoutes(services),
    availabilityRoutes(services),
    hoursRoutes(services),
    bookingRoutes(services),
    patternRoutes(services),
    blackoutRoutes(services),
    limitRoutes(services),
    hostRoutes(services),
    calendarConsentRoutes(services),
    bookingWebhookRoutes(services),
  ],
  events: bookingEventDocuments,
};
