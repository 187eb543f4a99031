import type { ConnectionServices } from '../../connections/index.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { deleteCalendar } from './calendars.ts';

const findAll = statement({
  name: 'calendar.of_tenant',
  row: { id: 'uuid' },
  text: 'select id from calendar where organization_id = :organizationId and environment = :environment limit 500',
});

/** Disconnects the calendars of a tenant. @returns whether some are left */
export async function endCalendars(services: Pick<ConnectionServices, 'connections'>, scope: Scope): Promise<boolean> {
  for (const { id } of await scope.rows(findAll)) await deleteCalendar(services, scope, id);
  return (await scope.rows(findAll)).length > 0;
}
