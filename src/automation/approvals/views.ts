import { type Declaration, typed } from '../../platform/database/sql-types.ts';
import type { ApprovalFacts, ApprovalResponse, ApprovalStatus } from '../core/approvals.ts';
import { readPath } from '../core/step-path.ts';
import type { ApprovalAction } from '../core/step-types.ts';

/** For SQL: the columns of an approval `a` and the workflow `w` that it is of. */
export const approvalColumns = `a.id, a.run_id as "runId", a.automation_id as "automationId", w.name as "workflowName",
  a.step_id as "stepId", a.path, a.message, a.actions::text as actions, a.form::text as form, a.approvers::text as approvers,
  a.status, a.expires_at as "expiresAt", a.created_at as "createdAt", a.response::text as response`;

/** Bytes of a form, or of the values of an answer, above which a list has a reference in their place. */
const maxListedBytes = 16 * 1024;

const reference = (value: string) => `json_build_object(
    '$ref', '/api/v1/approvals/apr_' || replace(a.id::text, '-', ''), 'bytes', octet_length((${value})::text))`;
const isLong = (value: string) => `octet_length((${value})::text) > ${maxListedBytes}`;

/** The same for lists: long values are not read. */
export const listedColumns = approvalColumns
  .replace(
    'a.form::text as form',
    `case when ${isLong('a.form')} then ${reference('a.form')}::text else a.form::text end as form`,
  )
  .replace(
    'a.response::text as response',
    `case when ${isLong(`a.response -> 'values'`)}
       then json_build_object('action', a.response -> 'action', 'values', ${reference(`a.response -> 'values'`)},
              'comment', a.response -> 'comment', 'respondedBy', a.response -> 'respondedBy',
              'respondedAt', a.response -> 'respondedAt', 'channel', a.response -> 'channel')::text
       else a.response::text end as response`,
  );

export const approvalRow = {
  id: 'uuid',
  runId: 'uuid',
  automationId: 'uuid',
  workflowName: 'text',
  stepId: 'text',
  path: 'text',
  message: 'text',
  actions: 'text',
  form: 'text?',
  approvers: 'text',
  status: typed<ApprovalStatus>('text'),
  expiresAt: 'timestamptz',
  createdAt: 'timestamptz',
  response: 'text?',
} as const satisfies Declaration;

interface ApprovalRow {
  id: string;
  runId: string;
  automationId: string;
  workflowName: string;
  stepId: string;
  path: string;
  message: string;
  actions: string;
  form: string | null;
  approvers: string;
  status: ApprovalStatus;
  expiresAt: Date;
  createdAt: Date;
  response: string | null;
}

/** An approval as callers see it, with UUIDs. */
export interface ApprovalView extends ApprovalFacts {
  form: Record<string, unknown> | null;
}

export function viewOf(row: ApprovalRow): ApprovalView {
  const { id, path, actions, form, approvers, response, expiresAt, createdAt, ...rest } = row;
  return {
    approvalId: id,
    ...rest,
    path: path === row.stepId ? null : readPath(path),
    actions: JSON.parse(actions) as ApprovalAction[],
    form: form === null ? null : (JSON.parse(form) as Record<string, unknown>),
    approvers: JSON.parse(approvers) as string[],
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
    response: response === null ? null : (JSON.parse(response) as ApprovalResponse),
  };
}

/** What its events say: the record without the form. */
export function factsOf({ form: _, ...facts }: ApprovalView): ApprovalFacts {
  return facts;
}
