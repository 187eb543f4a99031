import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { scheduleId } from '../../temporal/contracts/automation.ts';
import { syncSchedule } from './schedule-sync.ts';
import { findTemporalSchedule, listTemporalSchedules } from './temporal-schedules.ts';

export interface RestoredSchedule extends Tenant {
  automationId: string;
}

// In the order of the primary key, page by page. One whose change is still in the outbox is left to it.
const schedulesAfter = systemStatement({
  name: 'schedule.page',
  parameters: { after: 'uuid', limit: 'int' },
  row: { automationId: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select s.automation_id as "automationId", s.organization_id as "organizationId", s.environment
     from automation_schedule s
     join automation a on a.id = s.automation_id and a.deleted_at is null
     join organization o on o.id = s.organization_id and o.deleted_at is null
    where s.automation_id > :after
      and not exists (select from outbox where kind = 'schedule.sync' and subject_id = s.automation_id)
    order by s.automation_id limit :limit`,
});

const perPage = 1_000;
const beforeAll = '00000000-0000-0000-0000-000000000000';

/**
 * Creates again the Temporal Schedules that an operator deleted. Across all tenants, and safe to call concurrently.
 * Temporal is asked for one list of all Schedules; only what the list lacks is looked up by itself.
 * @throws errors of Temporal and PostgreSQL
 */
export async function restoreSchedules(database: Database, temporal: TemporalClient): Promise<RestoredSchedule[]> {
  const sql = sqlOn(database.pool);
  const restored: RestoredSchedule[] = [];
  let listed: ReadonlySet<string> | undefined;
  for (let after = beforeAll; ; ) {
    const page = await sql.rows(schedulesAfter, { after, limit: perPage });
    if (page.length === 0) return restored;
    listed ??= await listTemporalSchedules(temporal);
    for (const { automationId, ...tenant } of page) {
      // The list may be some seconds old.
      if (listed.has(automationId) || (await findTemporalSchedule(temporal, automationId))) continue;
      await syncSchedule(temporal, new Scope(database, tenant, scheduleId(automationId)), automationId);
      restored.push({ automationId, ...tenant });
    }
    after = page.at(-1)!.automationId;
  }
}
