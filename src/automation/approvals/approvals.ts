import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { TenantSql } from '../../platform/database/sql.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { maxOpenApprovals } from '../core/approval-answer.ts';
import type { ApprovalStatus } from '../core/approvals.ts';
import { approvalIds, workflowIds } from '../core/ids.ts';
import { fitList } from './fit-list.ts';
import { type ApprovalView, approvalColumns, approvalRow, listedColumns, viewOf } from './views.ts';

const findOne = statement({
  name: 'approval.by_id',
  parameters: { id: 'uuid' },
  row: approvalRow,
  text: `
    select ${approvalColumns} from approval a join automation w on w.id = a.automation_id and w.deleted_at is null
     where a.organization_id = :organizationId and a.environment = :environment and a.id = :id`,
});

const filters = `a.organization_id = :organizationId and a.environment = :environment
       and (:status is null or a.status = :status) and (:automationId is null or a.automation_id = :automationId)`;
const filterParameters = { status: 'text?', automationId: 'uuid?' } as const;

const findPage = statement({
  name: 'approval.list',
  parameters: { ...filterParameters, limit: 'int', offset: 'int' },
  row: approvalRow,
  text: `
    select ${listedColumns} from approval a join automation w on w.id = a.automation_id and w.deleted_at is null
     where ${filters}
     order by a.created_at desc, a.id desc limit :limit offset :offset`,
});

const count = statement({
  name: 'approval.count',
  parameters: filterParameters,
  row: { total: 'int' },
  text: `
    select count(*)::int as total from approval a join automation w on w.id = a.automation_id and w.deleted_at is null
     where ${filters}`,
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

/** Newest first. A workflow that there is not has none. */
export async function listApprovals(
  scope: Scope,
  filter: { status?: ApprovalStatus | undefined; workflowId?: string | undefined },
  { limit, offset }: PageRequest,
): Promise<Page<ApprovalView>> {
  const automationId = filter.workflowId === undefined ? null : workflowIds.parse(filter.workflowId);
  if (automationId === undefined) return { items: [], total: 0, limit, offset };
  const where = { status: filter.status ?? null, automationId };
  const [rows, counted] = await Promise.all([
    scope.rows(findPage, { ...where, limit, offset }),
    scope.one(count, where),
  ]);
  return { items: fitList(rows.map(viewOf)), total: counted!.total, limit, offset };
}
