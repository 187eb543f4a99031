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
      name: 'approval_automation_list_index',
      properties: ['organizationId', 'environment', 'automationId', 'createdAt', 'id'],
    },
    {
      name: 'approval_automation_status_index',
      properties: ['organizationId', 'environment', 'automationId', 'status', 'createdAt', 'id'],
    },
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

/** How many approvals some hundred consecutive ones of a tenant are: see approval-blocks.ts. */
export const ApprovalBlock = defineEntity({
  name: 'ApprovalBlock',
  tableName: 'approval_block',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    /** The position of its last approval; it begins after the block before. */
    endsAt: p.datetime().primary(),
    endsId: p.uuid().primary(),
    /** Whose approvals are counted, or the nil UUID for those of all workflows. */
    automationId: p.uuid().primary(),
    pending: p.integer(),
    answered: p.integer(),
    expired: p.integer(),
    cancelled: p.integer(),
  },
  indexes: [
    {
      name: 'approval_block_series_index',
      properties: ['organizationId', 'environment', 'automationId', 'endsAt', 'endsId'],
    },
    {
      name: 'approval_block_empty_index',
      properties: ['organizationId', 'environment', 'endsAt', 'endsId'],
      where: 'pending = 0 and answered = 0 and expired = 0 and cancelled = 0',
    },
  ],
});

/** An approval that was created, changed its state or was removed, until its block counts it. A trigger writes it. */
export const ApprovalChange = defineEntity({
  name: 'ApprovalChange',
  tableName: 'approval_change',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    automationId: p.uuid(),
    /** The position of the approval. */
    createdAt: p.datetime(),
    approvalId: p.uuid(),
    was: p.string().length(9).nullable(),
    becomes: p.string().length(9).nullable(),
    /** Whether its block may count it already. */
    isLate: p.boolean(),
  },
  indexes: [
    {
      name: 'approval_change_list_index',
      properties: ['organizationId', 'environment', 'createdAt', 'approvalId'],
    },
    {
      name: 'approval_change_end_index',
      properties: ['organizationId', 'environment', 'createdAt', 'approvalId'],
      where: 'was is null and get_byte(uuid_send(approval_id), 15) < 2',
    },
    { name: 'approval_change_late_index', properties: ['id'], where: 'is_late' },
  ],
});
