import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';
import type { ApprovalResponse, ApprovalStatus } from '../core/approvals.ts';
import type { ApprovalAction } from '../core/step-types.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** A question that a step of a run asks people. */
export const Approval = defineEntity({
  name: 'Approval',
  tableName: 'approval',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    runId: p.uuid(),
    /** The step's path, dotted. */
    path: p.text(),
    stepId: p.string().length(64),
    automationId: p.uuid(),
    message: p.text(),
    actions: p.json<ApprovalAction[]>().columnType('json'),
    /** JSON Schema of the values that an answer takes. */
    form: p.json<Record<string, unknown>>().columnType('json').nullable(),
    /** E-mail addresses. */
    approvers: p.json<string[]>().columnType('json'),
    status: p.string().length(9).$type<ApprovalStatus>(),
    expiresAt: p.datetime(),
    /** When the approvers are reminded; null once they were. */
    remindAt: p.datetime().nullable(),
    response: p.json<ApprovalResponse>().columnType('json').nullable(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
  },
  uniques: [{ properties: ['runId', 'path'] }],
  indexes: [
    { name: 'approval_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    { name: 'approval_status_index', properties: ['organizationId', 'environment', 'status', 'createdAt', 'id'] },
    { name: 'approval_automation_index', properties: ['automationId', 'createdAt', 'id'] },
    {
      name: 'approval_reminder_index',
      properties: ['remindAt'],
      where: `status = 'pending' and remind_at is not null`,
    },
  ],
});
export type Approval = InferEntity<typeof Approval>;

/** The link of one approver. */
export const ApprovalLink = defineEntity({
  name: 'ApprovalLink',
  tableName: 'approval_link',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    approvalId: p.uuid(),
    ...tenant,
    address: p.string().length(320),
    /** SHA-256 of the token. */
    tokenHash: p.blob(),
    /** For the mails; null once the approval is decided. */
    sealedToken: p.text().nullable(),
    mailedAt: p.datetime().nullable(),
    remindedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['approvalId', 'address'] }, { properties: ['tokenHash'] }],
});
export type ApprovalLink = InferEntity<typeof ApprovalLink>;
