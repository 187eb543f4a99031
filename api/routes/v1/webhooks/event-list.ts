import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { listEvents } from '../../../../src/webhooks/events/event-list.ts';
import { closeWhenLeft } from '../../../connection/close-when-left.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { withPageDefaults } from '../../../schemas/pagination.ts';
import { eventListExamples, eventListQuery, eventListSchema } from '../../../schemas/webhooks/event-list.ts';

/** Events for callers that webhooks cannot reach. */
export function eventListRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Events', key: requireKey(services, 'webhooks') });

  const list = operation({
    method: 'get',
    path: '/events',
    operationId: 'pollEvents',
    'x-client-method': 'events.poll',
    summary: 'Read events',
    description: [
      'Returns the events of the last seven days in the order in which they were committed, as webhooks get them. Repeat the request with `after`: each event is returned once. A page may have fewer events than `limit` although there are more. With',
      '`waitSeconds` the request waits until there is an event.',
      '',
      'Events are recorded from the first call on, or from the first webhook, trigger or workflow with an `event` step, until',
      'seven days after the last use. Events of integrations are recorded where a webhook, a trigger or a step names their',
      'type. Names of `POST /events`, tests and examples are not in the list. An event whose content was removed has `data`',
      'null and `contentExpungedAt`.',
    ].join('\n'),
    query: eventListQuery,
    answers: { 200: answer('Returns a page of events.', eventListSchema, { examples: eventListExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const scope = c.get('scope');
    const { waitSeconds = 0, offset: _, ...query } = withPageDefaults(c, c.req.valid('query'));
    if (waitSeconds === 0) return c.json(success(await listEvents(services, scope, query)), 200);
    const open = await services.openRequests.open(c.get('caller'), 'waitingRequests');
    c.get('releaseSlot')();
    closeWhenLeft(c.env.outgoing, open);
    try {
      const wait = { withinMs: waitSeconds * 1_000, giveUp: open.signal };
      const page = await listEvents(services, scope, query, wait);
      const refused = await open.refusal();
      if (refused) throw refused;
      return c.json(success(page), 200);
    } finally {
      open.close();
    }
  });
  return routes;
}
