import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import { findClaim, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import {
  type BulkActionStatus,
  type BulkActionType,
  type BulkError,
  maxBulkErrors,
  maxBulkExamples,
  maxBulkRuns,
  maxOpenBulkActions,
  unknownRun,
} from '../core/bulk-actions.ts';
import { runIds } from '../core/ids.ts';
import { failPoint } from '../fail-points.ts';
import { findRunIds, type RunFilter } from '../run-search/search-runs.ts';
import type { RetryDefinition } from '../runs/retry-run.ts';

/** Which runs. A filter has `from` and `to`. */
export type BulkSelection = { runIds: readonly string[] } | { filter: RunFilter };

export interface NewBulkAction {
  action: BulkActionType;
  definition: RetryDefinition;
  selection: BulkSelection;
}

/** The runs as they are named from now on. */
interface Frozen {
  ids: string[];
  /** Texts of the caller that are not ids. */
  unknown: string[];
}

/** Each run once. @throws AppError validation_error when a filter finds more runs than one bulk action may have */
async function freeze(scope: Scope, selection: BulkSelection): Promise<Frozen> {
  if ('runIds' in selection) {
    const parsed = selection.runIds.map((text) => [text, runIds.parse(text)] as const);
    const ids = new Set(parsed.flatMap(([, id]) => (id === undefined ? [] : [id])));
    const unknown = new Set(parsed.flatMap(([text, id]) => (id === undefined ? [text] : [])));
    return { ids: [...ids], unknown: [...unknown] };
  }
  const { ids, isComplete } = await findRunIds(scope, selection.filter, maxBulkRuns);
  if (isComplete) return { ids, unknown: [] };
  const message = `The filter matches or examines too many runs: a bulk action has at most ${maxBulkRuns.toLocaleString('en-US')}. Choose a shorter time, or another filter.`;
  throw invalid([{ path: 'filter', message }]);
}

interface BulkPreview {
  total: number;
  /** The first ids. */
  examples: string[];
}

/** The runs that a bulk action would select. Nothing is stored. @throws AppError validation_error */
export async function previewBulkAction(scope: Scope, selection: BulkSelection): Promise<BulkPreview> {
  const { ids, unknown } = await freeze(scope, selection);
  return { total: ids.length + unknown.length, examples: [...ids, ...unknown].slice(0, maxBulkExamples) };
}

const countOpen = statement({
  name: 'bulk_action.count_open',
  row: { count: 'int' },
  text: `select count(*)::int as count from bulk_action
    where organization_id = :organizationId and environment = :environment and completed_at is null`,
});

const insert = statement({
  name: 'bulk_action.insert',
  parameters: {
    id: 'uuid',
    action: 'text',
    definition: 'text',
    total: 'int',
    runIds: 'uuid[]',
    failed: 'int',
    errors: 'json',
    correlationId: 'text',
  },
  text: `insert into bulk_action (id, organization_id, environment, action, definition, status, total, run_ids, done, succeeded,
                                 failed, skipped, errors, created_at, correlation_id)
   values (:id, :organizationId, :environment, :action, :definition, 'pending', :total, :runIds, 0, 0, :failed, 0, :errors,
           atelier_now(), :correlationId)`,
});

interface CreatedBulkAction {
  id: string;
  status: BulkActionStatus;
  total: number;
}

/**
 * Accepts a bulk action. It selects the runs that match now, whatever matches the filter later.
 * @throws AppError validation_error, conflict when too many are open, idempotency_key_reused
 */
export async function createBulkAction(
  scope: Scope,
  { action, definition, selection }: NewBulkAction,
  claim: IdempotencyClaim | undefined,
): Promise<{ outcome: CreatedBulkAction; replayed: boolean }> {
  // A repeated request does not search again: the transaction reads the bulk action of the first request.
  const isRepeated = claim !== undefined && (await findClaim(scope, claim)) !== undefined;
  const { ids, unknown } = isRepeated ? { ids: [], unknown: [] } : await freeze(scope, selection);
  const errors: BulkError[] = unknown.slice(0, maxBulkErrors).map(unknownRun);
  const id = newId();
  const total = ids.length + unknown.length;
  const create = async (tx: Transaction): Promise<CreatedBulkAction> => {
    await lockForTransaction(tx, 'bulk-actions');
    if ((await tx.one(countOpen))!.count >= maxOpenBulkActions) {
      const message = `${maxOpenBulkActions} bulk actions are open. Wait for one of them, or abort it.`;
      throw new AppError('conflict', message, { limit: maxOpenBulkActions });
    }
    await tx.rows(insert, {
      id,
      action,
      definition,
      total,
      runIds: ids,
      failed: unknown.length,
      errors: JSON.stringify(errors),
      correlationId: scope.correlationId,
    });
    await tx.enqueue('bulk_action.start', id);
    failPoint('bulk.before-commit');
    return { id, status: 'pending', total };
  };
  const made = await scope.transaction(create, { claim });
  failPoint('bulk.committed');
  return made;
}
