import {
  blackoutIds,
  bookingIds,
  calendarIds,
  eventTypeIds,
  hostIds,
  patternIds,
} from '../../../../src/scheduling/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { availabilityRoutes } from './availability.ts';
import { blackoutRoutes } from './blackouts.ts';
import { bookingRoutes } from './bookings.ts';
import { calendarConsentRoutes } from './calendar-consents.ts';
import { calendarRoutes } from './calendars.ts';
import { eventTypeRoutes } from './event-types.ts';
import { hostRoutes } from './hosts.ts';
import { hoursRoutes } from './hours.ts';
import { limitRoutes } from './limits.ts';
import { patternRoutes } from './patterns.ts';
import { sandboxCalendarRoutes } from './sandbox-calendars.ts';
import { bookingWebhookRoutes } from './webhooks.ts';

export const scheduling: ApiFeature = {
  tags: [{ name: 'Scheduling', description: 'Offer times of hosts, and book, move and cancel them.' }],
  overview: { title: 'Scheduling', text: 'Free times, bookings and calendars' },
  example: {
    title: 'Scheduling',
    text: 'Offer times, list the free ones, and book one.',
    commands: ({ get, send }) => [
      send('/api/v1/scheduling/event-types', '{"name": "Intro call", "duration": 30}'),
      get('/api/v1/scheduling/availability?eventTypeId=EVENT_TYPE_ID&start=2030-06-12&end=2030-06-14'),
      send(
        '/api/v1/scheduling/bookings',
        '{"eventTypeId": "EVENT_TYPE_ID", "start": "2030-06-12T09:00:00Z", "attendee": {"name": "Grace", "email": "grace@example.com"}}',
      ),
    ],
  },
  ids: [eventTypeIds, bookingIds, hostIds, patternIds, blackoutIds, calendarIds],
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
    calendarRoutes(services),
    sandboxCalendarRoutes(services),
    bookingWebhookRoutes(services),
  ],
};
