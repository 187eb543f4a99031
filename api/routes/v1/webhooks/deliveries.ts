import type { OpenAPIHono } from '@hono/zod-openapi';
import { shortened } from '../../../../src/platform/core/shortened.ts';
import type { Services } from '../../../../src/services.ts';
import { deliveryIds, eventIds } from '../../../../src/webhooks/core/ids.ts';
import { findDeliveryId, getDelivery } from '../../../../src/webhooks/deliveries/deliveries.ts';
import type { DeliveryEntry } from '../../../../src/webhooks/deliveries/delivery-entry.ts';
import { listDeliveries } from '../../../../src/webhooks/deliveries/delivery-list.ts';
import { expungeDelivery } from '../../../../src/webhooks/deliveries/expunge.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { fitAnswer, type Replaceable } from '../../../fit-answer.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer } from '../../../schemas/answers.ts';
import { listOf, withPageDefaults } from '../../../schemas/pagination.ts';
import {
  type DeliveryAnswer,
  deliveryDetailExamples,
  deliveryDetailSchema,
  deliveryInPath,
  deliveryListExamples,
  deliveryListSchema,
  deliveryQuery,
} from '../../../schemas/webhooks/delivery.ts';
import { webhookInPath } from '../../../schemas/webhooks/webhook.ts';

const ofThisWebhook = { id: '$request.path.id' };
const readFirst = {
  operationId: 'getDelivery',
  parameters: { ...ofThisWebhook, deliveryId: '$response.body#/data/deliveries/0/id' },
};
const replayThis = {
  operationId: 'replayDelivery',
  parameters: { ...ofThisWebhook, deliveryId: '$response.body#/data/id' },
};

const resendThis = { ...replayThis, operationId: 'resendDelivery' };
const expungeThis = { ...replayThis, operationId: 'expungeDeliveryContent' };

const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

const toAnswer = ({
  id,
  eventId,
  createdAt,
  nextAttemptAt,
  contentExpungedAt,
  delay,
  ...entry
}: DeliveryEntry): DeliveryAnswer => ({
  id: deliveryIds.format(id),
  eventId: eventIds.format(eventId),
  ...entry,
  retryCount: Math.max(0, entry.attempts - 1),
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  heldBack: delay ? { reason: delay.reason, until: timeOf(delay.until) } : null,
  contentExpungedAt: contentExpungedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});

/** Characters that are kept of a response if an answer has too many large ones. */
const shortResponse = 1_000;

interface Answered {
  responseBody: string | null;
  responseBodyTruncated: boolean;
}

/** A response, which its beginning can replace: a receiver may answer characters that take six bytes each. */
function responseOf(answered: Answered): Replaceable[] {
  const { responseBody } = answered;
  if (responseBody === null || responseBody.length <= shortResponse) return [];
  const replacement = { responseBody: shortened(responseBody, shortResponse), responseBodyTruncated: true };
  return [
    {
      holder: answered as unknown as Record<string, unknown>,
      bytes: Buffer.byteLength(JSON.stringify(responseBody)),
      replacement,
    },
  ];
}

export function deliveryRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'webhooks');

  const operation = operationsOf({ tag: 'Webhooks', key });

  const list = operation({
    method: 'get',
    path: '/webhooks/{id}/deliveries',
    operationId: 'listDeliveries',
    'x-client-method': 'webhooks.deliveries.list',
    summary: 'List webhook deliveries',
    description:
      'Newest first, each with the result of its last attempt. With both filters, deliveries that match both are returned.',
    params: webhookInPath,
    query: deliveryQuery,
    answers: {
      200: answer('A page of deliveries.', deliveryListSchema, {
        examples: deliveryListExamples,
        links: { First: readFirst },
      }),
    },
  });
  const get = operation({
    method: 'get',
    path: '/webhooks/{id}/deliveries/{deliveryId}',
    operationId: 'getDelivery',
    'x-client-method': 'webhooks.deliveries.get',
    summary: 'Retrieve a delivery',
    description: 'Returns the delivery with its attempts.',
    params: deliveryInPath,
    answers: {
      200: answer('Returns the delivery.', deliveryDetailSchema, {
        examples: deliveryDetailExamples,
        links: { Replay: replayThis, Resend: resendThis, Expunge: expungeThis },
      }),
    },
  });
  const expunge = operation({
    method: 'delete',
    path: '/webhooks/{id}/deliveries/{deliveryId}/content',
    operationId: 'expungeDeliveryContent',
    'x-client-method': 'webhooks.deliveries.content.delete',
    summary: 'Remove the content of a delivery',
    description: [
      'Removes the body and the answers of the receiver for good. The log of the attempts stays. The delivery cannot be',
      'replayed or resent afterwards, and `recover` skips it. All deliveries of an event share its body: the others lose it too, as soon as none of them has attempts to come. Answered with 409 `conflict` while this delivery has attempts to come.',
    ].join(' '),
    params: deliveryInPath,
    answers: { 200: deletedAnswer('The content was removed, now or earlier.') },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { limit, offset, ...filter } = withPageDefaults(c, c.req.valid('query'));
    const page = await listDeliveries(c.get('scope'), c.req.valid('param').id, { ...filter, limit, offset });
    const answered = listOf('deliveries', page, toAnswer);
    return c.json(success(fitAnswer(answered, () => answered.deliveries.flatMap(responseOf))), 200);
  });
  routes.openapi(get, async (c) => {
    const { id, deliveryId } = c.req.valid('param');
    const { requestBody, attemptLog, ...entry } = await getDelivery(services, c.get('scope'), id, deliveryId);
    const attempts = attemptLog.map((attempt) => ({ ...attempt, startedAt: attempt.startedAt.toISOString() }));
    const answered = { ...toAnswer(entry), requestBody, attemptLog: attempts };
    return c.json(success(fitAnswer(answered, () => [answered, ...attempts].flatMap(responseOf))), 200);
  });
  routes.openapi(expunge, async (c) => {
    const scope = c.get('scope');
    const { id, deliveryId: delivery } = c.req.valid('param');
    const { subscriptionId, deliveryId } = await findDeliveryId(scope, id, delivery);
    await expungeDelivery(scope, subscriptionId, deliveryId);
    return c.json(deleted, 200);
  });
  return routes;
}
