import type { ApiFeature } from '../../mount.ts';
import { bookingPageRoutes } from './booking-pages.ts';
import { calendarPushRoutes } from './calendar-push.ts';
import { publicPageRoutes } from './public-pages.ts';

/** Pages for attendees, who have no key. */
export const bookingPages: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [bookingPageRoutes(services)],
};

/** Pages on which visitors book, who have no key either. */
export const publicPages: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [publicPageRoutes(services)],
};

/** Where calendar services say that a calendar changed. It is for them alone, so the reference does not name it. */
export const calendarPush: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [calendarPushRoutes(services)],
};
