import { z } from '@hono/zod-openapi';
import type { ApprovalView } from '../../../src/automation/approvals/views.ts';
import { approvalStates, maxCommentLength } from '../../../src/automation/core/approvals.ts';
import { approvalIds, runIds, workflowIds } from '../../../src/automation/core/ids.ts';
import type { Page } from '../../../src/platform/database/page.ts';
import { freeForm } from '../free-form.ts';
import { inDialect, orNull } from '../in-dialect.ts';
import { flatPage, paginationOf, paginationSchema } from '../pagination.ts';
import { text } from '../text.ts';

const response = z
  .object({
    action: z.string(),
    values: freeForm,
    comment: z.string().nullable(),
    respondedBy: z.string().nullable().openapi({
      description: '`key:<name or id>`, `email:<address>` or `operator`; null when a timeout took the action.',
    }),
    respondedAt: z.iso.datetime(),
    channel: z.enum(['api', 'console', 'mail', 'mcp', 'temporal', 'timeout']),
  })
  .openapi('ApprovalResponse');

const action = z.object({ id: z.string(), label: z.string(), skipForm: z.boolean().optional() });

export const approvalSchema = z
  .object({
    id: z.string(),
    runId: z.string(),
    workflowId: z.string(),
    workflowName: z.string(),
    stepId: z.string(),
    path: z
      .array(z.union([z.string(), z.int()]))
      .nullable()
      .openapi({ description: 'Where the step stands inside containers; null for a step that stands in none.' }),
    message: z.string(),
    actions: z.array(action),
    form: freeForm.nullable().openapi({
      type: ['object', 'null'],
      additionalProperties: {},
      description: 'A JSON Schema of the values that an answer takes.',
    }),
    approvers: z.array(z.string()),
    status: z.enum(approvalStates.all),
    expiresAt: z.iso.datetime(),
    createdAt: z.iso.datetime(),
    response: orNull(response),
  })
  .openapi('Approval');

export const approvalListSchema = z.union([
  inDialect('ApprovalListA', 'pagination', { approvals: z.array(approvalSchema), pagination: paginationSchema }),
  inDialect('ApprovalListB', 'total', { approvals: z.array(approvalSchema), ...flatPage }),
]);

export const answerSchema = z
  .object({
    action: z.string().max(64).openapi({ description: 'The id of one of the actions of the approval.' }),
    values: freeForm.optional().openapi({
      description: 'The values of the form. An action with `skipForm` takes none. Default: `{}`.',
    }),
    comment: text(maxCommentLength)
      .nullish()
      .openapi({ type: ['string', 'null'], maxLength: maxCommentLength }),
  })
  .openapi('ApprovalAnswer');

export const shownApproval = (
  { approvalId, automationId, runId, ...view }: ApprovalView,
  isB: boolean,
): z.input<typeof approvalSchema> => ({
  id: approvalIds.format(approvalId),
  runId: isB ? runIds.format(runId) : runId,
  workflowId: isB ? workflowIds.format(automationId) : automationId,
  ...view,
  path: view.path && [...view.path],
  actions: [...view.actions],
  approvers: [...view.approvers],
});

export const shownApprovals = (page: Page<ApprovalView>, isB: boolean): z.input<typeof approvalListSchema> => {
  const approvals = page.items.map((view) => shownApproval(view, isB));
  const { total, limit, offset } = page;
  return isB ? { approvals, total, limit, offset } : { approvals, pagination: paginationOf(page) };
};

const view: ApprovalView = {
  approvalId: '0199cccc-dddd-7eee-8fff-000011112222',
  runId: '0199bbbb-cccc-7ddd-8eee-ffff00001111',
  automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
  workflowName: 'Refund',
  stepId: 'ask',
  path: null,
  message: 'Refund 49.50 to Ada?',
  actions: [
    { id: 'approve', label: 'Approve' },
    { id: 'reject', label: 'Reject', skipForm: true },
  ],
  form: { type: 'object', properties: { amount: { type: 'number' } } },
  approvers: ['ada@example.com'],
  status: 'pending',
  expiresAt: '2026-11-26T09:30:00.000Z',
  createdAt: '2026-11-23T09:30:00.000Z',
  response: null,
};
const answered: ApprovalView = Object.assign({}, view, {
  status: 'answered',
  response: {
    action: 'approve',
    values: { amount: 49.5 },
    comment: null,
    respondedBy: 'key:Back office',
    respondedAt: '2026-11-23T10:00:00.000Z',
    channel: 'api',
  },
});
const both = (one: ApprovalView) => ({ A: shownApproval(one, false), B: shownApproval(one, true) });
export const approvalExamples = both(view);
export const answeredExamples = both(answered);
export const approvalListExamples = {
  A: shownApprovals({ items: [view], total: 1, limit: 50, offset: 0 }, false),
  B: shownApprovals({ items: [view], total: 1, limit: 20, offset: 0 }, true),
};
const anAnswer = { action: 'approve', values: { amount: 49.5 } };
export const answerExamples = { A: anAnswer, B: anAnswer };
