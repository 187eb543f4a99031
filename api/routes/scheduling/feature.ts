import type { ApiFeature } from '../../mount.ts';
import { bookingPageRoutes } from './booking-pages.ts';

/** Pages for attendees, who have no key. */
export const bookingPages: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [bookingPageRoutes(services)],
};
