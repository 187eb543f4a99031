import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { scheduleId } from '../../temporal/contracts/automation.ts';
import { restoreSchedules } from '../../temporal/schedules.ts';
import { syncSchedule } from './schedule-sync.ts';

interface ScheduleRow extends Tenant {
  /** The id of the workflow. */
  id: string;
}

// Reads in the order of the primary key, page by page. A schedule whose change is still in the outbox is left to it.
const schedulesAfter = systemStatement({
  name: 'schedule.page',
  parameters: { after: 'uuid', limit: 'int' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select s.automation_id as id, s.organization_id as "organizationId", s.environment
     from automation_schedule s
     join automation a on a.id = s.automation_id and a.deleted_at is null
     join organization o on o.id = s.organization_id and o.deleted_at is null
    where s.automation_id > :after
      and not exists (select from outbox where kind = 'schedule.sync' and subject_id = s.automation_id)
    order by s.automation_id limit :limit`,
});

/** Creates again the Schedules that an operator deleted. Across all tenants, and safe to call concurrently. */
export const restoreAutomationSchedules = (database: Database, temporal: TemporalClient): Promise<ScheduleRow[]> =>
  restoreSchedules(temporal, {
    idOf: scheduleId,
    page: (after, limit) => sqlOn(database.pool).rows(schedulesAfter, { after, limit }),
    restore: async ({ id, ...tenant }) => {
      await syncSchedule(temporal, new Scope(database, tenant, scheduleId(id)), id);
    },
  });
