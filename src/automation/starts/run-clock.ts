import { statement, type TenantSql } from '../../platform/database/sql.ts';

// A trigger starts and stops the clock of a run whose time is limited, as its status and its waits change. It keeps the time
// that was used when this statement takes the end away.
const stop = statement({
  name: 'run.stop_clock',
  parameters: { runId: 'uuid' },
  text: `update run set times_out_at = null
    where organization_id = :organizationId and environment = :environment and id = :runId and times_out_at is not null`,
});

/** The run waits for a place of its organization: that is no executing time. The clock goes on with its next step. */
export const stopClock = async (sql: TenantSql, runId: string): Promise<void> => void (await sql.rows(stop, { runId }));
