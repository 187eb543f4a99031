import { type OpenAPIHono, type RouteConfig, type RouteHandler, z } from '@hono/zod-openapi';
import { createRun } from '../../../../src/automation/runs/create-run.ts';
import type { RunOptions } from '../../../../src/automation/runs/insert-run.ts';
import { rotateTriggerSecret } from '../../../../src/automation/runs/trigger.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { secretSegment } from '../../../requests/trigger-path.ts';
import { answer, jsonContent, keySecurity } from '../../../schemas/answers.ts';
import { triggeredSchema } from '../../../schemas/automation/run.ts';
import { triggeredExamples } from '../../../schemas/automation/run-examples.ts';
import { runLinks } from '../../../schemas/automation/run-links.ts';
import { readRunOptions, triggerOptionQuery } from '../../../schemas/automation/run-options.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { freeForm } from '../../../schemas/free-form.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { requireTrigger } from './require-trigger.ts';

const secretHeader = z.object({
  'X-Webhook-Secret': z
    .string()
    .optional()
    .openapi({
      param: { name: 'X-Webhook-Secret', in: 'header' },
      description: 'The secret that `POST /workflows/{id}/webhook-secret` returned. Needed unless an API key is sent.',
    }),
});

const exampleSecret = `trg_${'k3XFdN0uUl1pGkLPYJ7n'.repeat(2)}Zq8`;
const shownOnce = { secret: exampleSecret };

const secretInPath = z.object({
  secret: z
    .string()
    .regex(/^trg_[A-Za-z0-9_-]+$/)
    .openapi({
      param: { name: 'secret', in: 'path', example: exampleSecret },
      description: "The workflow's webhook secret.",
    }),
});

/** A caller with only the secret sets nothing of a run except its variables. @throws AppError validation_error */
function optionsOf(c: ApiContext, query: z.output<typeof triggerOptionQuery>): RunOptions | undefined {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length > 0 && !c.get('caller')) {
    throw invalid(given.map(([path]) => ({ path, message: 'Needs an API key.' })));
  }
  return readRunOptions(query);
}

const event = { name: 'Ann', text: 'An order was placed.' };

/** The webhook trigger of a workflow: starting runs from other systems. */
export function triggerRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Workflows', key: requireKey(services, 'workflows:write', 'runs:execute') });

  const rotate = operation({
    method: 'post',
    path: '/workflows/{id}/webhook-secret',
    operationId: 'rotateTriggerSecret',
    'x-client-method': 'workflows.rotateTriggerSecret',
    summary: 'Rotate the webhook secret of a workflow',
    description:
      'Creates a secret that starts this workflow when sent to `POST /webhooks/{id}` in the header `X-Webhook-Secret`, or to `POST /webhooks/{id}/{secret}` by senders that cannot set headers. It begins with `trg_` and is shown once. The previous secret stops working immediately.',
    params: idInPath(exampleWorkflowIds),
    idempotent: true,
    answers: {
      200: answer('Returns the secret.', z.object({ secret: z.string() }), {
        examples: { A: shownOnce, B: shownOnce },
        links: {
          TriggerBySecret: {
            operationId: 'triggerWorkflowBySecret',
            parameters: { id: '$request.path.id', secret: '$response.body#/data/secret' },
          },
        },
        replayable: true,
      }),
    },
  });
  const triggers = operationsOf({
    tag: 'Runs',
    key: requireTrigger(services),
    security: [...keySecurity('runs:execute'), { webhookSecret: [] }],
  });
  const trigger = triggers({
    method: 'post',
    // Shares its path, and so the name of the parameter, with the subscriptions: see webhooks.ts.
    path: '/webhooks/{id}',
    operationId: 'triggerWorkflow',
    'x-client-method': 'workflows.trigger',
    description:
      'Starts a run with the body as its inputs. Authenticate with an API key, or with the webhook secret of the workflow in `X-Webhook-Secret`. A prefixed id in the path selects dialect B.',
    summary: 'Trigger a workflow by webhook',
    params: idInPath(exampleWorkflowIds),
    query: triggerOptionQuery,
    headers: secretHeader,
    body: jsonContent(freeForm, { A: event, B: event }),
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      200: answer('Returns the started run.', triggeredSchema, {
        examples: triggeredExamples,
        links: runLinks,
        replayable: true,
      }),
    },
  });
  const { middleware: _, ...described } = trigger;
  const bySecret: RouteConfig = {
    ...described,
    path: '/webhooks/{id}/{secret}',
    security: [],
    operationId: 'triggerWorkflowBySecret',
    'x-client-method': 'workflows.triggerBySecret',
    description:
      'Starts a run like `POST /webhooks/{id}`, for senders that cannot set headers. The address itself authenticates: treat it as a secret. Prefer the header, since proxies log addresses. Secrets created before they began with `trg_` work in the header only.',
    summary: 'Trigger a workflow by a URL with its secret',
    request: {
      ...trigger.request,
      query: z.object({}),
      params: idInPath(exampleWorkflowIds).extend(secretInPath.shape),
      headers: idempotencyHeader,
    },
  };

  const routes = newRoutes();
  const start: RouteHandler<typeof trigger, ApiEnv> = async (c) => {
    const { id } = c.req.valid('param');
    const variables = c.req.valid('json') ?? {};
    const run = await createRun(services, c.get('scope'), id, {
      input: 'whole',
      variables,
      idempotency: readIdempotency(c),
      waiter: null,
      options: optionsOf(c, c.req.valid('query')),
      trigger: { type: 'webhook' },
    });
    if (run.runId === null) return c.json(success(automationDialect(c).skipped()), 200);
    markReplayed(c, run.replayed);
    return c.json(success(automationDialect(c).triggered(run)), 200);
  };
  routes.openapi(trigger, start);
  // Routes see a fixed segment in place of the secret; only the reference names it.
  routes.openapi({ ...trigger, path: `/webhooks/{id}/${secretSegment}`, hide: true }, start);
  routes.openAPIRegistry.registerPath(bySecret);
  routes.openapi(rotate, async (c) => {
    const { id } = c.req.valid('param');
    const claim = readIdempotency(c);
    const { secret, replayed } = await rotateTriggerSecret(c.get('scope'), services.sealer, id, claim);
    markReplayed(c, replayed);
    c.header('Cache-Control', 'no-store');
    return c.json(success({ secret }), 200);
  });
  return routes;
}
