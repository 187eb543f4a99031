import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';

// The table has the steps that are under way, and those that ended since the last call.
const forget = systemStatement({
  name: 'run_step.forget_rounds',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with ended as (
     select r.run_id, r.position, r.round from run_step_round r
      where not exists (select from run_step s
                         where s.run_id = r.run_id and s.position = r.position and s.status = 'running')
      limit :limit),
   gone as (
     delete from run_step_round r using ended
      where r.run_id = ended.run_id and r.position = ended.position and r.round = ended.round
     returning 1)
   select count(*)::int as count from gone`,
});

/**
 * Removes the recorded offers and requests of the models of steps some time after the steps have ended in any way, of
 * all tenants. The calls themselves are part of the steps' results and stay.
 * @returns how many entries
 */
export function forgetRounds(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  return inBatches(async (limit) => (await sql.one(forget, { limit }))!.count, 500);
}
