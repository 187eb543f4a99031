import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { beginAction } from '../../../../src/integrations/actions/begin-action.ts';
import { findEarlier } from '../../../../src/integrations/actions/create-action.ts';
import { answerOf } from '../../../../src/integrations/actions/find-action.ts';
import { requestAction } from '../../../../src/integrations/actions/request-action.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import {
  actionFailure,
  answer,
  failures,
  integrationFailures,
  jsonContent,
  keySecurity,
} from '../../../schemas/answers.ts';
import {
  actionAnswerExamples,
  actionAnswerSchema,
  actionInPath,
  actionPayloadExamples,
  actionPayloadSchema,
  actionsInWords,
  scheduledActionExamples,
  scheduledActionSchema,
} from '../../../schemas/integrations/action.ts';
import { awaitAction } from './await-action.ts';

const description = [
  'A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at most 5 seconds in',
  'all. If an answer was lost the outcome is `unknown`: the provider may have performed the action, and no request is repeated.',
  'Disconnecting does not cancel an action: the same Idempotency-Key returns its answer for 24 hours. After a failure the key',
  'can be used again, unless the outcome is `unknown`.',
  '\n\nIn the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,',
  '`sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.',
  `\n\n${actionsInWords}`,
].join(' ');

const actionRunId = '$response.body#/data/actionRunId';

export function actionRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const perform = createRoute({
    ...{ method: 'post' as const, path: '/{integrationId}/actions/{actionId}', operationId: 'performAction' },
    ...{ tags: ['Integrations'], security: keySecurity('integrations') },
    ...{ summary: 'Perform an action of an integration', description },
    middleware: [requireKey(services, 'integrations'), jsonBody()] as const,
    request: {
      params: actionInPath,
      headers: idempotencyHeader,
      body: { required: true, content: jsonContent(actionPayloadSchema, actionPayloadExamples) },
    },
    responses: {
      200: answer('Returns what the action answers.', actionAnswerSchema, {
        examples: actionAnswerExamples,
        replayable: true,
      }),
      202: answer('It will be performed later.', scheduledActionSchema, {
        examples: scheduledActionExamples,
        links: {
          get: { operationId: 'getActionRun', parameters: { actionRunId } },
          cancel: { operationId: 'cancelActionRun', parameters: { actionRunId } },
        },
        replayable: true,
      }),
      ...failures(404, 409, 413, 415, 422),
      ...integrationFailures,
      502: actionFailure,
    },
  });
  const routes = newRoutes();
  routes.openapi(perform, async (c) => {
    const scope = c.get('scope');
    const caller = c.get('caller');
    const { integrationId, actionId } = c.req.valid('param');
    const requested = requestAction(integrationId, actionId, c.req.valid('json'));
    const isDelayed = requested.delaySeconds > 0;
    const idempotency = readIdempotency(c);
    const open = await services.openRequests.open(caller, 'waitingRequests');
    try {
      const created =
        (await findEarlier(scope, idempotency)) ??
        (await beginAction(services, scope, requested, { plan: caller.plan, idempotency }));
      const run = await awaitAction(services, scope, open, { ...created, isDelayed });
      markReplayed(c, created.replayed);
      return c.json(success(answerOf(run)), isDelayed ? 202 : 200) as never;
    } finally {
      open.close();
    }
  });
  return routes;
}
