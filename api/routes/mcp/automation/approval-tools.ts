import { z } from '@hono/zod-openapi';
import { listApprovals } from '../../../../src/automation/approvals/approval-list.ts';
import { getApproval } from '../../../../src/automation/approvals/approvals.ts';
import { fitList } from '../../../../src/automation/approvals/fit-list.ts';
import { respond } from '../../../../src/automation/approvals/respond.ts';
import { approvalStates } from '../../../../src/automation/core/approvals.ts';
import { AppError } from '../../../../src/platform/errors.ts';
import { answerSchema, shownApproval } from '../../../schemas/automation/approval.ts';
import { jsonResult, maxResultBytes } from '../results.ts';
import { defineTool } from '../tool.ts';
import { respondedBy } from './tasks.ts';

const maxListed = 50;

export const approvalTools = [
  defineTool({
    name: 'list_approvals',
    title: 'List approvals',
    description: `Lists the latest ${maxListed} questions that runs ask people, with what may be answered. Without a status those that are pending.`,
    scope: 'runs:read',
    args: z.object({ status: z.enum(approvalStates.all).optional() }),
    annotations: { readOnlyHint: true },
    async perform({ scope }, { status = 'pending' }) {
      const { items, total } = await listApprovals(scope, { status }, { limit: maxListed, offset: 0 });
      const approvals = fitList(items, maxResultBytes).map((view) => shownApproval(view, false));
      return jsonResult({ approvals, hasMore: total > items.length }, { isUntrusted: true });
    },
  }),
  defineTool({
    name: 'respond_to_approval',
    title: 'Answer an approval',
    description:
      'Answers an approval, and its run continues. An approval that names its approvers is refused, because one of them must answer it. Ask the user before you decide.',
    scope: 'runs:execute',
    args: answerSchema.extend({ approvalId: z.string().openapi({ description: 'The id of a pending approval.' }) }),
    annotations: { readOnlyHint: false, destructiveHint: true },
    async perform(call, { approvalId, action, values = {}, comment = null }) {
      const { services, scope } = call;
      const { approvers } = await getApproval(scope, approvalId);
      if (approvers.length > 0) {
        throw new AppError('forbidden', 'The approval names its approvers: one of them answers it.', { approvalId });
      }
      const given = { action, values, comment, respondedBy: await respondedBy(call), channel: 'mcp' as const };
      const view = await respond(services, scope, approvalId, given);
      return jsonResult(shownApproval(view, false), { isUntrusted: true });
    },
  }),
];
