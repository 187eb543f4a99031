import { createRoute, type OpenAPIHono, type RouteConfig } from '@hono/zod-openapi';
import { beginAction } from '../../../../src/integrations/actions/begin-action.ts';
import { answerOf, findAction } from '../../../../src/integrations/actions/find-action.ts';
import { actionJob } from '../../../../src/integrations/actions/job.ts';
import { requestAction } from '../../../../src/integrations/actions/request-action.ts';
import type { Services } from '../../../../src/services.ts';
import { awaitJob } from '../../../await-job.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity } from '../../../schemas/answers.ts';
import { freeForm } from '../../../schemas/free-form.ts';
import {
  actionInPath,
  type DocumentedAction,
  documentedActions,
  scheduledActionExamples,
  scheduledActionSchema,
} from '../../../schemas/integrations/action.ts';
import { actionFailure, integrationFailures } from '../../../schemas/integrations/failures.ts';

const description = [
  'A request that the provider certainly did not perform is repeated, up to three attempts with pauses of at most 5 seconds in',
  'all. If an answer was lost the outcome is `unknown`: the provider may have performed the action, and no request is repeated.',
  'Disconnecting does not cancel an action: the same Idempotency-Key returns its answer for 24 hours. After a failure the key',
  'can be used again, unless the outcome is `unknown`.',
  '\n\nIn the sandbox a text of the payload can cause a failure: `sandbox:fail`, `sandbox:rate_limited=<seconds>`,',
  '`sandbox:auth_expired`, `sandbox:overloaded` (succeeds at the third attempt), `sandbox:slow=<seconds>`.',
].join(' ');

const actionRunId = '$response.body#/data/actionRunId';

/** The operation of an action in the reference. */
function operationOf(action: DocumentedAction): RouteConfig {
  const { path, operationId, clientMethod, summary, payload, payloadExample, result, resultExample, canBeDelayed } =
    action;
  const answers = { examples: { A: resultExample, B: resultExample }, replayable: true };
  const links = {
    get: { operationId: 'getActionRun', parameters: { actionRunId } },
    cancel: { operationId: 'cancelActionRun', parameters: { actionRunId } },
  };
  // An action that can be delayed has a delayed example, because its answer links to the run.
  const sent = canBeDelayed ? { ...payloadExample, delay: 3_600 } : payloadExample;
  const later = { examples: scheduledActionExamples, links, replayable: true };
  return {
    method: 'post',
    path,
    operationId,
    'x-client-method': clientMethod,
    summary,
    description,
    tags: ['Integrations'],
    security: keySecurity('integrations'),
    request: {
      headers: idempotencyHeader,
      body: { required: true, content: jsonContent(payload, { A: sent, B: sent }) },
    },
    responses: {
      200: answer('Returns the result of the action.', result, answers),
      ...(canBeDelayed && { 202: answer('The action was scheduled.', scheduledActionSchema, later) }),
      ...failures(404, 409, 413, 415, 422),
      ...integrationFailures,
      502: actionFailure,
    },
  };
}

export function actionRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const perform = createRoute({
    method: 'post',
    path: '/{integrationId}/actions/{actionId}',
    // The reference has a path for each action, with the payload and the answer of that action.
    hide: true,
    middleware: [requireKey(services, 'integrations'), jsonBody()] as const,
    request: {
      params: actionInPath,
      headers: idempotencyHeader,
      body: { required: true, content: jsonContent(freeForm, { A: {}, B: {} }) },
    },
    responses: {},
  });
  const routes = newRoutes();
  for (const action of documentedActions) routes.openAPIRegistry.registerPath(operationOf(action));
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
        (await actionJob.findEarlier(scope, idempotency)) ??
        (await beginAction(services, scope, requested, { plan: caller.plan, idempotency }));
      const run = await awaitJob(created, {
        open,
        waiters: services.actionWaiters,
        deadlineMs: services.actionPolicy.deadlineMs,
        find: () => findAction(services.sealer, scope, created.id),
        isDecided: ({ delayed, status }) => delayed || status !== 'processing',
        isImmediate: isDelayed,
      });
      markReplayed(c, created.replayed);
      return c.json(success(answerOf(run)), isDelayed ? 202 : 200) as never;
    } finally {
      open.close();
    }
  });
  return routes;
}
