import { inBatches } from '../platform/database/batches.ts';
import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { type Declaration, type RowWith, typed } from '../platform/database/sql-types.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Sweep } from '../platform/parts/part.ts';
import type { Environment } from '../platform/tenant.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { watchEachStopped } from '../temporal/stopped-workflows.ts';
import { jobWorkflowId } from './core/names.ts';
import type { JobDeclaration, JobTypes, StopReason } from './declaration.ts';

interface StopServices {
  database: Database;
  log: Log;
}

/** A row whose workflow has not recorded its end yet. */
const openRow = {
  id: 'uuid',
  organizationId: 'uuid',
  environment: typed<Environment>('text'),
  correlationId: 'text',
} as const satisfies Declaration;
type OpenRow = RowWith<typeof openRow>;

const openColumns = `id, organization_id as "organizationId", environment, correlation_id as "correlationId"`;

/** Time for a workflow to record the end itself. */
const usualGraceMs = 60_000;

/** As long as an Idempotency-Key is kept, which is taken with its row or before, and so is forgotten first. */
const keptHours = 24;

/** Rows in one statement. */
const batch = { overdue: 50, forgotten: 1_000 };

/** The sweeps of a job: across all tenants, and safe to repeat. */
export function jobSweeps<Of extends JobTypes>(
  { contract, plural, table, isOpen, policy, deadline, forget: forgets }: JobDeclaration<Of>,
  { stop }: { stop(services: Of['services'], scope: Scope, ref: JobRef, reason: StopReason): Promise<boolean> },
) {
  const { name, noun, queue, workflow } = contract;
  const { from = 'created_at', ms, sql = '(:ages)[1]', graceMs = usualGraceMs } = deadline;
  const hasOpen = systemStatement({
    name: `${name}.any_open`,
    row: { found: 'boolean' },
    text: `select exists (select from ${table} where ${isOpen}) as found`,
  });
  const findOpen = systemStatement({
    name: `${name}.find_open`,
    parameters: { ids: 'uuid[]' },
    row: openRow,
    text: `select ${openColumns} from ${table} where id = any(:ids) and ${isOpen}`,
  });
  const overdue = systemStatement({
    name: `${name}.overdue`,
    parameters: { limit: 'int', ages: 'float8[]' },
    row: openRow,
    text: `select ${openColumns} from ${table}
      where ${isOpen} and ${from} < atelier_statement_now() - make_interval(secs => ${sql} / 1000)
      order by ${from} limit :limit`,
  });
  const outdated = forgets && {
    keptFrom: forgets.from ?? 'created_at',
    also: forgets.also === undefined ? '' : `, ${forgets.also}`,
  };
  const forget =
    outdated &&
    systemStatement({
      name: `${name}.forget`,
      parameters: { keptHours: 'int', limit: 'int' },
      row: { count: 'int' },
      text: `with old as (
         delete from ${table} where ctid = any(array(
           select ctid from ${table}
            where created_at <= atelier_statement_now() - make_interval(hours => :keptHours) and not ${isOpen}
              and ${outdated.keptFrom} <= atelier_now() - make_interval(hours => :keptHours)
            order by created_at limit :limit))
         returning id)${outdated.also}
       select count(*)::int as count from old`,
    });

  const stopRow = (
    services: Of['services'] & StopServices,
    { organizationId, environment, correlationId, id }: OpenRow,
    reason: StopReason,
  ) => {
    const scope = new Scope(services.database, { organizationId, environment }, correlationId);
    return stop(services, scope, { id, waiter: null }, reason);
  };

  /** Stops jobs that are past their deadline, whatever became of their workflows. @returns how many */
  async function stopOverdue(services: Of['services'] & StopServices, limit: number): Promise<number> {
    const { database, log } = services;
    const ages = ms(policy(services)).map((one) => one + graceMs);
    const rows = await sqlOn(database.pool).rows(overdue, { limit, ages });
    for (const row of rows) {
      await stopRow(services, row, 'timeout');
      log.warn(row, `${noun} failed: it is overdue`);
    }
    return rows.length;
  }

  /** Removes jobs of the day before that have ended. @returns how many; as many as `limit`: there may be more */
  const forgetOld = async (database: Database, limit: number): Promise<number> =>
    forget ? (await sqlOn(database.pool).one(forget, { keptHours, limit }))!.count : 0;

  return {
    stopOverdue,
    forgetOld,

    sweeps: (services: Of['services'] & StopServices & { temporal: TemporalClient }): Sweep[] => [
      {
        name: `end ${plural} that were terminated in Temporal`,
        everyMs: 5_000,
        run: watchEachStopped(services, {
          queue,
          type: workflow,
          workflowId: (id) => jobWorkflowId(contract, id),
          hasOpen,
          findOpen,
          end: (row) => stopRow(services, row, 'terminated'),
        }),
      },
      {
        name: `end ${plural} that no process works on`,
        everyMs: 60_000,
        run: () => inBatches((limit) => stopOverdue(services, limit), batch.overdue),
      },
      ...(forget
        ? [
            {
              name: `remove ${plural} after a day`,
              everyMs: 60_000,
              run: () => inBatches((limit) => forgetOld(services.database, limit), batch.forgotten),
            },
          ]
        : []),
    ],
  };
}
