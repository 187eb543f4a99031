import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

const findLate = statement({
  name: 'run_wait.find_late',
  parameters: { runId: 'uuid', deadline: 'timestamptz' },
  row: { found: 'boolean' },
  text: `select exists (
           select from run_wait
            where organization_id = :organizationId and environment = :environment and run_id = :runId and state = 'open'
              and type in ('wait', 'event', 'approval') and until > :deadline) as found`,
});

/** Whether a run waits for a time, an event or a person for longer than until then. A run that it started is no such wait. */
export async function waitsBeyond(scope: Scope, runId: string, deadline: Date): Promise<boolean> {
  return (await scope.one(findLate, { runId, deadline }))!.found;
}
