export const services = ['google', 'microsoft'] as const;
/** Whose calendars can be connected. */
export type Service = (typeof services)[number];

/**
 * syncing       it is being read, or will be at once
 * active        it was read
 * error         it could not be read, and will be tried again; what was read before stays in force
 * auth_expired  access was withdrawn: it is not read until it is connected again
 * disconnected  the calendar does not exist any more; the same
 */
export const calendarStatuses = ['syncing', 'active', 'error', 'auth_expired', 'disconnected'] as const;
export type CalendarStatus = (typeof calendarStatuses)[number];

/** Whether it is read at all. */
export const isConnected = (status: CalendarStatus): boolean => status !== 'auth_expired' && status !== 'disconnected';
