import type { OpenAPIHono } from '@hono/zod-openapi';
import { cancelActionRun, getActionRun } from '../../../../src/integrations/actions/action-runs.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, keySecurity } from '../../../schemas/answers.ts';
import {
  actionRunExamples,
  actionRunInPath,
  actionRunSchema,
  cancelledActionRunExamples,
} from '../../../schemas/integrations/action-run.ts';

/** Actions that were requested with a delay: what became of them, and their cancellation. */
export function actionRunRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'integrations');
  const _tags = ['Integrations'];
  const _security = keySecurity('integrations');

  const operation = operationsOf({ tag: 'Integrations', key });

  const get = operation({
    method: 'get',
    path: '/actions/{actionRunId}',
    operationId: 'getActionRun',
    'x-client-method': 'integrations.actionRuns.get',
    summary: 'Retrieve a delayed action',
    description:
      'Returns the status of an action that was requested with a delay, and its result. It can be read for a day after its end.',
    params: actionRunInPath,
    answers: {
      200: answer('Returns the action.', actionRunSchema, {
        examples: actionRunExamples,
        links: {
          cancel: { operationId: 'cancelActionRun', parameters: { actionRunId: '$response.body#/data/actionRunId' } },
        },
      }),
    },
  });
  const cancel = operation({
    method: 'post',
    path: '/actions/{actionRunId}/cancel',
    operationId: 'cancelActionRun',
    'x-client-method': 'integrations.actionRuns.cancel',
    summary: 'Cancel a delayed action',
    description:
      'Cancels an action that waits for its time. A cancelled action is returned unchanged. An action that is being performed, or has ended otherwise, is answered with 409 `conflict`.',
    params: actionRunInPath,
    answers: { 200: answer('Returns the action.', actionRunSchema, { examples: cancelledActionRunExamples }) },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(get, async (c) =>
    c.json(success(await getActionRun(c.get('scope'), c.req.valid('param').actionRunId)), 200),
  );
  routes.openapi(cancel, async (c) => {
    const run = await cancelActionRun(services, c.get('scope'), c.req.valid('param').actionRunId);
    return c.json(success(run), 200);
  });
  return routes;
}
