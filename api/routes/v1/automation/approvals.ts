import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { listApprovals } from '../../../../src/automation/approvals/approval-list.ts';
import { getApproval } from '../../../../src/automation/approvals/approvals.ts';
import { respond } from '../../../../src/automation/approvals/respond.ts';
import { approvalStates } from '../../../../src/automation/core/approvals.ts';
import type { Services } from '../../../../src/services.ts';
import { keyName } from '../../../../src/tenancy/key-name.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  answerExamples,
  answeredExamples,
  answerSchema,
  approvalExamples,
  approvalListExamples,
  approvalListSchema,
  approvalSchema,
  shownApproval,
  shownApprovals,
} from '../../../schemas/automation/approval.ts';
import { prefixedIdInPath } from '../../../schemas/ids.ts';
import { pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';

const params = prefixedIdInPath('approvalId', 'apr_0199ccccdddd7eee8fff000011112222');

const query = z.object({
  status: z
    .enum(approvalStates.all)
    .optional()
    .openapi({ param: { name: 'status', in: 'query' } }),
  workflowId: z
    .string()
    .optional()
    .openapi({ param: { name: 'workflowId', in: 'query' }, description: 'Approvals of this workflow alone.' }),
  ...pageQuery,
});

export function approvalRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Approvals', key: requireKey(services, 'runs:read') });
  const firstOfList = { approvalId: '$response.body#/data/approvals/0/id' };

  const list = operation({
    method: 'get',
    path: '/approvals',
    operationId: 'listApprovals',
    'x-client-method': 'approvals.list',
    summary: 'List approvals',
    description:
      'Newest first. With both filters, approvals that match both are returned. Forms and values of more than 16 KiB are replaced by `{$ref, bytes}`; so are the largest ones of a page that has more than 2 MiB, whose longest messages are cut.',
    query,
    answers: {
      200: answer('A page of approvals.', approvalListSchema, {
        examples: approvalListExamples,
        links: {
          Read: { operationId: 'getApproval', parameters: firstOfList },
          Respond: { operationId: 'respondToApproval', parameters: firstOfList },
        },
      }),
    },
  });
  const get = operation({
    method: 'get',
    path: '/approvals/{approvalId}',
    operationId: 'getApproval',
    'x-client-method': 'approvals.get',
    summary: 'Retrieve an approval',
    description: 'Returns the approval with its message and form, and the answer once it is given.',
    params,
    answers: { 200: answer('Returns the approval.', approvalSchema, { examples: approvalExamples }) },
  });
  const send = operation({
    method: 'post',
    path: '/approvals/{approvalId}/respond',
    operationId: 'respondToApproval',
    'x-client-method': 'approvals.respond',
    summary: 'Answer an approval',
    description: [
      'The first answer wins, and the run continues with it as the output of the step. An approval that is answered, expired or cancelled returns 409 `conflict`, with who decided and when. Values that do not match the form return 400 with their paths, and the approval stays open.',
    ].join('\n'),
    key: requireKey(services, 'runs:execute'),
    params,
    body: jsonContent(answerSchema, answerExamples),
    failures: [409],
    answers: { 200: answer('Returns the approval.', approvalSchema, { examples: answeredExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { limit, offset, ...filter } = withPageDefaults(c, c.req.valid('query'));
    const page = await listApprovals(c.get('scope'), filter, { limit, offset });
    return c.json(success(shownApprovals(page, c.get('dialect').variant === 'B')), 200);
  });
  routes.openapi(get, async (c) => {
    const view = await getApproval(c.get('scope'), c.req.valid('param').approvalId);
    return c.json(success(shownApproval(view, c.get('dialect').variant === 'B')), 200);
  });
  routes.openapi(send, async (c) => {
    const { action, values = {}, comment = null } = c.req.valid('json');
    const scope = c.get('scope');
    const { keyId, session } = c.get('caller');
    const respondedBy = session ? `user:${session.email}` : `key:${await keyName(services.database, keyId!)}`;
    const channel = session ? ('console' as const) : ('api' as const);
    const given = { action, values, comment, respondedBy, channel };
    const view = await respond(services, scope, c.req.valid('param').approvalId, given);
    return c.json(success(shownApproval(view, c.get('dialect').variant === 'B')), 200);
  });
  return routes;
}
