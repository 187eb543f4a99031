import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { triggerByHand } from '../../../../src/integrations/inbound/trigger-by-hand.ts';
import type { Services } from '../../../../src/services.ts';
import { eventIds } from '../../../../src/webhooks/core/ids.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity } from '../../../schemas/answers.ts';
import { freeForm } from '../../../schemas/free-form.ts';
import { triggerInPath } from '../../../schemas/integrations/in-path.ts';
import { triggerExamples, triggeredExamples, triggeredSchema } from '../../../schemas/integrations/webhooks.ts';
import { requireIntegration } from './require-integration.ts';

/** The `data` of an event, and nothing else of its body. */
const simulatedEventSchema = freeForm.openapi('SimulatedEvent', {
  description: 'The `data` of the event, as webhooks receive it.',
});

export function triggerRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const trigger = createRoute({
    method: 'post',
    path: '/{integrationId}/triggers/{event}',
    tags: ['Integrations'],
    security: keySecurity('integrations'),
    operationId: 'triggerIntegrationEvent',
    summary: 'Trigger an event in the sandbox',
    description: [
      'Delivers an event to the webhooks that subscribe to it, as if the provider had sent it. The body is the `data` of the',
      'event. With a live key the answer is 404 `not_found`.',
    ].join(' '),
    middleware: [requireKey(services, 'integrations'), jsonBody()] as const,
    request: {
      params: triggerInPath,
      headers: idempotencyHeader,
      body: { required: true, content: jsonContent(simulatedEventSchema, triggerExamples) },
    },
    responses: {
      202: answer('The event will be delivered.', triggeredSchema, {
        examples: triggeredExamples,
        replayable: true,
      }),
      ...failures(404, 409, 413, 415, 422),
    },
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
