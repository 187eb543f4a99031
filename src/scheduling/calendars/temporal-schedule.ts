import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import {
  type CalendarPolicy,
  calendarScheduleId,
  calendarWorkflows,
  type SyncCalendarArgs,
  syncLimitMs,
} from '../../temporal/contracts/calendars.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import {
  describeSchedule,
  everyFor,
  keepSchedule,
  restoreSchedules,
  triggerSchedule,
  type WantedSchedule,
} from '../../temporal/schedules.ts';
import { isDeleted, isKept } from '../../tenancy/index.ts';
import { isConnected } from '../core/calendar-status.ts';
import { findCalendar } from './sync-state.ts';

export interface CalendarScheduleServices {
  temporal: TemporalClient;
  calendarPolicy: CalendarPolicy;
  /** Milliseconds between two syncs. */
  calendarEveryMs: number;
}

function scheduleOf(
  { calendarPolicy, calendarEveryMs }: CalendarScheduleServices,
  tenant: Tenant,
  calendarId: string,
  paused: boolean,
): WantedSchedule {
  const args: SyncCalendarArgs = {
    organizationId: tenant.organizationId,
    environment: tenant.environment,
    calendarId,
    policy: calendarPolicy,
  };
  return everyFor({
    id: calendarScheduleId(calendarId),
    row: { tenant, id: calendarId },
    everyMs: calendarEveryMs,
    workflowType: calendarWorkflows.syncCalendar,
    queue: queues.calendars,
    args,
    maxRunMs: syncLimitMs,
    paused,
    pauseNote: 'The calendar cannot be accessed. Syncing continues when the calendar is connected again.',
    resumeNote: 'The calendar was connected again.',
  });
}

/**
 * Makes the Temporal Schedule of a calendar match its row: it exists while the calendar exists and its organization is
 * not deleted, and is paused without access. Harmless to repeat. An operator's pause stays.
 * @param sync whether a sync is to start now; also while an operator paused the Schedule
 */
export async function followCalendar(
  services: CalendarScheduleServices,
  scope: Scope,
  calendarId: string,
  { sync }: { sync: boolean },
): Promise<void> {
  const { temporal } = services;
  const id = calendarScheduleId(calendarId);
  const kept = await keepSchedule(temporal, id, async () => {
    if (await isDeleted(scope)) return undefined;
    const calendar = await findCalendar(scope, calendarId);
    return calendar && scheduleOf(services, scope.tenant, calendarId, !isConnected(calendar.status));
  });
  if (sync && kept && !kept.wanted.paused) await triggerSchedule(temporal, id);
}

/** Starts a sync because the provider says that the calendar changed; not where an operator paused the Schedule. */
export async function triggerByPush(temporal: TemporalClient, calendarId: string): Promise<void> {
  const known = await describeSchedule(temporal, calendarScheduleId(calendarId));
  if (known && !known.state.paused) await triggerSchedule(temporal, calendarScheduleId(calendarId));
}

interface CalendarRow extends Tenant {
  id: string;
}

// Reads in the order of the primary key, page by page. A Schedule whose change is still in the outbox is left to it.
const calendarsAfter = systemStatement({
  name: 'calendar.page',
  parameters: { after: 'uuid', limit: 'int' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select c.id, c.organization_id as "organizationId", c.environment from calendar c
    where c.id > :after and ${isKept('c.organization_id')}
      and not exists (select from outbox where kind in ('calendar.schedule', 'calendar.sync') and subject_id = c.id)
    order by c.id limit :limit`,
});

/** Creates again the Schedules that an operator deleted. Across all tenants, and safe to call concurrently. */
export function restoreCalendarSchedules(
  database: Database,
  services: CalendarScheduleServices,
): Promise<CalendarRow[]> {
  return restoreSchedules(services.temporal, {
    idOf: calendarScheduleId,
    page: (after, limit) => sqlOn(database.pool).rows(calendarsAfter, { after, limit }),
    restore: ({ id, ...tenant }) =>
      followCalendar(services, new Scope(database, tenant, calendarScheduleId(id)), id, { sync: false }),
  });
}
