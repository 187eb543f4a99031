import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import type { DeliveryStatus } from '../../../../src/webhooks/core/delivery-status.ts';
import { deliveryIds, recoveryIds } from '../../../../src/webhooks/core/ids.ts';
import { replayDelivery } from '../../../../src/webhooks/dead-letters/replay.ts';
import { findDeliveryId, findSubscriptionId } from '../../../../src/webhooks/deliveries/deliveries.ts';
import { recoverDeliveries } from '../../../../src/webhooks/deliveries/recovery.ts';
import { resendDelivery } from '../../../../src/webhooks/deliveries/resend.ts';
import { sendExample, sendTestEvent } from '../../../../src/webhooks/deliveries/test-event.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  deliveryInPath,
  queuedExamples,
  queuedSchema,
  recoveredExamples,
  recoveredSchema,
  recoveryExamples,
  recoverySchema,
} from '../../../schemas/webhooks/delivery.ts';
import { sentExampleExamples, sentExampleSchema } from '../../../schemas/webhooks/event-catalog.ts';
import { webhookInPath } from '../../../schemas/webhooks/webhook.ts';

const readThis = {
  operationId: 'getDelivery',
  parameters: { id: '$request.path.id', deliveryId: '$response.body#/data/deliveryId' },
};

const queued = ({ deliveryId, status }: { deliveryId: string; status: DeliveryStatus }) => ({
  deliveryId: deliveryIds.format(deliveryId),
  status,
});

/** Deliveries on request: test events, replays and recovery. */
export function replayRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'webhooks');

  const operation = operationsOf({ tag: 'Webhooks', key });

  const test = operation({
    method: 'post',
    path: '/webhooks/{id}/test',
    operationId: 'testWebhook',
    'x-client-method': 'webhooks.test',
    summary: 'Send a test event',
    description:
      'Sends an event of type `test.webhook` to this webhook, whatever events it subscribes to. An inactive webhook is answered with 409 `conflict`.',
    params: webhookInPath,
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      202: answer('The event will be delivered.', queuedSchema, {
        examples: queuedExamples,
        links: { Delivery: readThis },
        replayable: true,
      }),
    },
    failures: [409],
  });
  const sendThisExample = operation({
    method: 'post',
    path: '/webhooks/{id}/send-example',
    operationId: 'sendWebhookExample',
    'x-client-method': 'webhooks.sendExample',
    summary: 'Send the example of an event type',
    description: [
      'Sends the published example of an event type to this webhook, whatever it subscribes to. The delivery is marked with',
      '`isTest`; the body is not. An inactive webhook is answered with 409 `conflict`.',
    ].join(' '),
    params: webhookInPath,
    body: jsonContent(sentExampleSchema, sentExampleExamples),
    idempotent: true,
    answers: {
      202: answer('The example will be delivered.', queuedSchema, {
        examples: queuedExamples,
        links: { Delivery: readThis },
        replayable: true,
      }),
    },
    failures: [409],
  });
  const replay = operation({
    method: 'post',
    path: '/webhooks/{id}/deliveries/{deliveryId}/replay',
    operationId: 'replayDelivery',
    'x-client-method': 'webhooks.deliveries.replay',
    summary: 'Replay a dead-lettered delivery',
    description: [
      'Delivers the event again with the same event id and a full set of attempts. Answered with 409 `conflict` if the',
      'delivery is not dead-lettered, its content was removed, or the webhook is inactive.',
    ].join(' '),
    params: deliveryInPath,
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      202: answer('The event will be delivered again.', queuedSchema, { examples: queuedExamples, replayable: true }),
    },
    failures: [409],
  });
  const resend = operation({
    method: 'post',
    path: '/webhooks/{id}/deliveries/{deliveryId}/resend',
    operationId: 'resendDelivery',
    'x-client-method': 'webhooks.deliveries.resend',
    summary: 'Resend a delivery',
    description: [
      'Sends the event of any delivery, delivered ones included, once more to the webhook: as a new delivery with the same',
      'event id and body. The earlier delivery stays as it is. Answered with 409 `conflict` if the webhook is inactive or the content was removed.',
    ].join(' '),
    params: deliveryInPath,
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      202: answer('The event will be delivered once more.', queuedSchema, {
        examples: queuedExamples,
        links: { Delivery: readThis },
        replayable: true,
      }),
    },
    failures: [409],
  });
  const recover = operation({
    method: 'post',
    path: '/webhooks/{id}/recover',
    operationId: 'recoverDeliveries',
    'x-client-method': 'webhooks.recover',
    summary: 'Recover missed deliveries',
    description: [
      'Replays all deliveries dead-lettered since a time, and delivers the events that were not sent because the webhook was',
      'inactive. Events whose content was removed are skipped. `until`, `eventTypes` and `statusClass` narrow the selection. The first deliveries are queued at once and the others soon after the answer. Answered with 409 `conflict`',
      'while the webhook is inactive.',
    ].join(' '),
    params: webhookInPath,
    body: jsonContent(recoverySchema, recoveryExamples),
    idempotent: true,
    answers: {
      202: answer('Returns how many deliveries were queued.', recoveredSchema, {
        examples: recoveredExamples,
        replayable: true,
      }),
    },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(test, async (c) => {
    const scope = c.get('scope');
    const id = await findSubscriptionId(scope, c.req.valid('param').id);
    const { outcome, replayed } = await sendTestEvent(services, scope, id, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(queued(outcome)), 202);
  });
  routes.openapi(sendThisExample, async (c) => {
    const scope = c.get('scope');
    const { type } = c.req.valid('json');
    const id = await findSubscriptionId(scope, c.req.valid('param').id);
    const { outcome, replayed } = await sendExample(services, scope, id, type, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(queued(outcome)), 202);
  });
  routes.openapi(replay, async (c) => {
    const scope = c.get('scope');
    const { id, deliveryId: delivery } = c.req.valid('param');
    const { subscriptionId, deliveryId } = await findDeliveryId(scope, id, delivery);
    const claim = readIdempotency(c);
    const { outcome, replayed } = await replayDelivery(services, scope, subscriptionId, deliveryId, claim);
    markReplayed(c, replayed);
    return c.json(success(queued(outcome)), 202);
  });
  routes.openapi(resend, async (c) => {
    const scope = c.get('scope');
    const { id, deliveryId: delivery } = c.req.valid('param');
    const { subscriptionId, deliveryId } = await findDeliveryId(scope, id, delivery);
    const claim = readIdempotency(c);
    const { outcome, replayed } = await resendDelivery(services, scope, subscriptionId, deliveryId, claim);
    markReplayed(c, replayed);
    return c.json(success(queued(outcome)), 202);
  });
  routes.openapi(recover, async (c) => {
    const scope = c.get('scope');
    const filter = c.req.valid('json');
    const id = await findSubscriptionId(scope, c.req.valid('param').id);
    const { outcome, replayed } = await recoverDeliveries(services, scope, id, filter, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(
      success({ ...outcome, complete: outcome.complete ?? true, recoveryId: recoveryIds.format(outcome.recoveryId) }),
      202,
    );
  });
  return routes;
}
