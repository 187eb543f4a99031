import type { Page } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { workflowIds } from '../core/ids.ts';
import type { RunStatus } from '../core/run-status.ts';
import { workflowNotFound } from '../errors.ts';
import { markRuns } from './run-blocks.ts';
import { listColumns, live, type RunSummary, runRow, withProgress } from './runs.ts';

const findTotals = statement({
  name: 'run.totals',
  parameters: { automationId: 'uuid' },
  row: { totalRuns: 'int', removedRuns: 'int' },
  text: `select total_runs as "totalRuns", removed_runs as "removedRuns" from automation
    where organization_id = :organizationId and environment = :environment and id = :automationId and deleted_at is null`,
});

// Test runs have numbers below 1. Rows are compared and ordered as one index has them: no other gives this order. With `automation_id = :automationId` the planner would
// read and sort all runs of a workflow where it believes that they are few, and with `status = :status` take the index of numbers
// where it believes that the status is common, and read all runs where it is rare.
const listByNumber = statement({
  name: 'run.list',
  parameters: { automationId: 'uuid', upTo: 'int', limit: 'int', skip: 'int' },
  row: runRow,
  text: `select ${listColumns} ${live} and (r.automation_id, r.number) <= (:automationId, :upTo) and r.automation_id >= :automationId and r.number > 0
    order by r.automation_id desc, r.number desc limit :limit offset :skip`,
});

const listByStatus = statement({
  name: 'run.list_by_status',
  parameters: { automationId: 'uuid', status: 'text', upTo: 'int', limit: 'int', skip: 'int' },
  row: runRow,
  text: `select ${listColumns} ${live} and r.automation_id = :automationId and (r.status, r.number) <= (:status, :upTo) and r.status >= :status and r.number > 0
    order by r.status desc, r.number desc limit :limit offset :skip`,
});

/** A workflow's runs, newest first, with values of at most 16 KiB. `status` absent means all. @throws AppError workflow_not_found */
export async function listRuns(
  scope: Scope,
  workflowId: string,
  { status, limit, offset }: { status?: RunStatus | undefined; limit: number; offset: number },
): Promise<Page<RunSummary>> {
  const uuid = workflowIds.parse(workflowId);
  const automation = uuid && (await scope.one(findTotals, { automationId: uuid }));
  if (!automation) throw workflowNotFound(workflowId);
  const { totalRuns, removedRuns } = automation;
  // Where no number is missing a page is a range of numbers.
  const { total, begin } =
    !status && removedRuns === 0
      ? { total: totalRuns, begin: { upTo: Math.max(0, totalRuns - offset), skip: 0 } }
      : await markRuns(scope, uuid, status, { totalRuns, removedRuns, offset });
  if (!begin) return { items: [], total, limit, offset };
  const rows = status
    ? await scope.rows(listByStatus, { automationId: uuid, status, limit, ...begin })
    : await scope.rows(listByNumber, { automationId: uuid, limit, ...begin });
  return { items: rows.map(withProgress), total, limit, offset };
}
