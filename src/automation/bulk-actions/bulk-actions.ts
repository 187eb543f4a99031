import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement, type TenantSql } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { removalOfFewByPlan } from '../../tenancy/index.ts';
import {
  type BulkActionStatus,
  type BulkActionType,
  type BulkCounts,
  type BulkError,
  openBulkAction,
} from '../core/bulk-actions.ts';
import { bulkActionIds } from '../core/ids.ts';
import { failPoint } from '../fail-points.ts';
import type { RetryDefinition } from '../runs/retry-run.ts';

export interface BulkAction {
  id: string;
  action: BulkActionType;
  /** The definition that retries use. */
  definition: RetryDefinition;
  status: BulkActionStatus;
  counts: BulkCounts;
  errors: BulkError[];
  createdAt: Date;
  completedAt: Date | null;
}

const columns = {
  id: 'uuid',
  action: typed<BulkActionType>('text'),
  definition: typed<RetryDefinition>('text'),
  status: typed<BulkActionStatus>('text'),
  counts: typed<BulkCounts>('json'),
  errors: typed<BulkError[]>('json'),
  createdAt: 'timestamptz',
  completedAt: 'timestamptz?',
} as const;

const tenant = 'organization_id = :organizationId and environment = :environment';
const shown = `
   select id, action, definition, status, errors, created_at as "createdAt", completed_at as "completedAt",
          json_build_object('total', total, 'succeeded', succeeded, 'failed', failed, 'skipped', skipped) as counts
     from bulk_action where ${tenant}`;

const find = statement({
  name: 'bulk_action.find',
  parameters: { id: 'uuid' },
  row: columns,
  text: `${shown} and id = :id`,
});

const list = statement({
  name: 'bulk_action.list',
  parameters: { limit: 'int', offset: 'int' },
  row: columns,
  text: `${shown} order by created_at desc, id desc limit :limit offset :offset`,
});

const count = statement({
  name: 'bulk_action.count',
  row: { count: 'int' },
  text: `select count(*)::int as count from bulk_action where ${tenant}`,
});

/** @param id in either form @throws AppError not_found */
export async function getBulkAction(sql: TenantSql, id: string): Promise<BulkAction> {
  const uuid = bulkActionIds.parse(id);
  const found = uuid && (await sql.one(find, { id: uuid }));
  if (!found) throw new AppError('not_found', 'No bulk action has this id.', { bulkActionId: id });
  return found;
}

/** Newest first. */
export async function listBulkActions(scope: Scope, { limit, offset }: PageRequest): Promise<Page<BulkAction>> {
  const [items, total] = await Promise.all([scope.rows(list, { limit, offset }), scope.one(count)]);
  return { items, total: total!.count, limit, offset };
}

const markAborted = statement({
  name: 'bulk_action.abort',
  parameters: { id: 'uuid' },
  row: { id: 'uuid' },
  text: `update bulk_action set status = 'aborted', completed_at = atelier_now()
    where ${tenant} and id = :id and status in (${openBulkAction})
   returning id`,
});

/** Records that nothing more of it is done. @returns whether it was open */
export const abortRow = async (sql: TenantSql, id: string): Promise<boolean> =>
  (await sql.one(markAborted, { id })) !== undefined;

/**
 * Aborts a bulk action. Runs that are already processed stay so, and a bulk action that has ended stays unchanged.
 * @param id in either form @throws AppError not_found
 */
export async function abortBulkAction(scope: Scope, id: string): Promise<BulkAction> {
  const { id: uuid } = await getBulkAction(scope, id);
  await scope.transaction(async (tx) => {
    if (await abortRow(tx, uuid)) await tx.enqueue('bulk_action.stop', uuid);
  });
  failPoint('bulk.aborted');
  return getBulkAction(scope, id);
}

const findOpen = statement({
  name: 'bulk_action.open',
  row: { id: 'uuid' },
  text: `select id from bulk_action where ${tenant} and status in (${openBulkAction})`,
});

/** Aborts the open bulk actions of a tenant. */
export async function abortOpenBulkActions(scope: Scope): Promise<void> {
  for (const { id } of await scope.rows(findOpen)) await abortBulkAction(scope, id);
}

/** Removes the bulk actions that ended longer ago than their plan keeps runs. */
export const removeOldBulkActions = removalOfFewByPlan({ table: 'bulk_action', endedAt: 'completed_at' });
