import type { Scope } from '../../platform/database/scope.ts';
import type { TenantSql } from '../../platform/database/sql.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { maxOpenApprovals } from '../core/approval-answer.ts';
import { approvalIds } from '../core/ids.ts';
import { type ApprovalView, approvalColumns, approvalRow, viewOf } from './views.ts';

const findOne = statement({
  name: 'approval.by_id',
  parameters: { id: 'uuid' },
  row: approvalRow,
  text: `
    select ${approvalColumns} from approval a join automation w on w.id = a.automation_id and w.deleted_at is null
     where a.organization_id = :organizationId and a.environment = :environment and a.id = :id`,
});

const findOpen = statement({
  name: 'approval.open_of_run',
  parameters: { runId: 'uuid', limit: 'int' },
  row: approvalRow,
  text: `
    select ${approvalColumns} from approval a join automation w on w.id = a.automation_id and w.deleted_at is null
     where a.organization_id = :organizationId and a.environment = :environment and a.run_id = :runId and a.status = 'pending'
     order by a.created_at, a.id limit :limit`,
});

export const approvalNotFound = (approvalId: string) =>
  new AppError('not_found', 'No approval has this id.', { approvalId });

/** @throws AppError not_found */
export async function getApproval(sql: TenantSql, id: string): Promise<ApprovalView> {
  const uuid = approvalIds.parse(id);
  const row = uuid && (await sql.one(findOne, { id: uuid }));
  if (!row) throw approvalNotFound(id);
  return viewOf(row);
}

/** The first approvals that a run waits for. */
export const openApprovalsOf = async (scope: Scope, runId: string): Promise<ApprovalView[]> =>
  (await scope.rows(findOpen, { runId, limit: maxOpenApprovals })).map(viewOf);
