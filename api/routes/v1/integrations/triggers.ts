import type { OpenAPIHono } from '@hono/zod-openapi';
import { triggerByHand } from '../../../../src/integrations/inbound/trigger-by-hand.ts';
import type { Services } from '../../../../src/services.ts';
import { eventIds } from '../../../../src/webhooks/core/ids.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import { freeForm } from '../../../schemas/free-form.ts';
import { triggerInPath } from '../../../schemas/integrations/in-path.ts';
import { triggerExamples, triggeredExamples, triggeredSchema } from '../../../schemas/integrations/webhooks.ts';
import { requireIntegration } from './require-integration.ts';

/** The `data` of an event, without the rest of its body. */
const simulatedEventSchema = freeForm.openapi('SandboxTrigger', {
  description: 'The `data` of the event, as webhooks receive it.',
});

export function triggerRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Integrations', key: requireKey(services, 'integrations') });

  const trigger = operation({
    method: 'post',
    path: '/{integrationId}/triggers/{event}',
    operationId: 'triggerIntegrationEvent',
    'x-client-method': 'integrations.trigger',
    summary: 'Trigger an event in the sandbox',
    description: [
      'Delivers an event to the webhooks that subscribe to it, as if the provider had sent it. The body is the `data` of the',
      'event. With a live key the answer is 404 `not_found`.',
    ].join(' '),
    params: triggerInPath,
    body: jsonContent(simulatedEventSchema, triggerExamples),
    idempotent: true,
    answers: {
      202: answer('The event will be delivered.', triggeredSchema, {
        examples: triggeredExamples,
        replayable: true,
      }),
    },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(trigger, async (c) => {
    const { integrationId, event } = c.req.valid('param');
    const integration = requireIntegration(integrationId);
    const [asked, claim] = [{ event, data: c.req.valid('json') }, readIdempotency(c)];
    const { outcome, replayed } = await triggerByHand(services, c.get('scope'), integration, asked, claim);
    markReplayed(c, replayed);
    return c.json(success({ eventId: eventIds.format(outcome.eventId) }), 202);
  });
  return routes;
}
