import { rowBlocks } from '../../platform/database/row-blocks.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { openRun, type RunStatus } from '../core/run-status.ts';

/** The counts of 1000 consecutive runs of a workflow. A deleted workflow is purged, and its blocks are no longer counted. */
const blocks = rowBlocks({
  table: 'run',
  series: { automationId: 'automation_id' },
  isOpen: `status in (${openRun})`,
  counts: { completed: "status = 'completed'", failed: "status = 'failed'", cancelled: "status = 'cancelled'" },
  isWanted: 'exists (select from automation a where a.id = r.automation_id and a.deleted_at is null)',
});

export const blockLock = (automationId: string): string => blocks.lockOf({ automationId });
export const countRunBlocks = blocks.countDue;

const marksOfStatus = blocks.marks({
  name: 'marks',
  given: { status: 'text', latest: 'int', removed: 'int' },
  isShown: 'r.status = :status',
  counted: `case :status when 'completed' then b.completed when 'failed' then b.failed
                         when 'cancelled' then b.cancelled else 0 end`,
  latest: ':latest',
  noneRemoved: ':removed = 0',
});
const marksOfAll = blocks.marks({
  name: 'marks_of_all',
  given: { latest: 'int', removed: 'int' },
  isShown: 'true',
  counted: 'b.completed + b.failed + b.cancelled',
  latest: ':latest',
  noneRemoved: ':removed = 0',
});

export interface Marks {
  /** How many runs there are. */
  total: number;
  /** Where the page begins: so many of these runs after this number, in descending order. Undefined when it is empty. */
  begin: { upTo: number; skip: number } | undefined;
}

/**
 * Counts a workflow's runs and finds a page of them, at a cost that does not grow with the offset.
 * @param status undefined for all
 * @param totalRuns the number of the latest run
 * @param removedRuns how many of them are no longer there
 */
export async function markRuns(
  scope: Scope,
  automationId: string,
  status: RunStatus | undefined,
  { totalRuns, removedRuns, offset }: { totalRuns: number; removedRuns: number; offset: number },
): Promise<Marks> {
  const given = { automationId, latest: totalRuns, removed: removedRuns, offset };
  const found = status ? await scope.one(marksOfStatus, { ...given, status }) : await scope.one(marksOfAll, given);
  const { total, upTo, skip } = found!;
  return { total, begin: upTo === null || skip === null ? undefined : { upTo, skip } };
}
