import type { Environment } from '../../../platform/tenant.ts';
import type { Service } from '../../core/calendar-status.ts';
import type { CalendarClient } from './ports.ts';

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface CalendarClients {
  clientFor(environment: Environment, service: Service): CalendarClient;
}

export const calendarClients = (
  sandbox: (service: Service) => CalendarClient,
  live: Readonly<Record<Service, CalendarClient>>,
): CalendarClients => ({
  clientFor: (environment, service) => (environment === 'test' ? sandbox(service) : live[service]),
});
