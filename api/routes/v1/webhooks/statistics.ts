import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { getStatistics } from '../../../../src/webhooks/subscriptions/statistics.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { statisticsExamples, statisticsQuery, statisticsSchema } from '../../../schemas/webhooks/statistics.ts';
import { webhookInPath } from '../../../schemas/webhooks/webhook.ts';

/** Figures of a webhook's attempts. */
export function statisticsRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Webhooks', key: requireKey(services, 'webhooks') });

  const stats = operation({
    method: 'get',
    path: '/webhooks/{id}/stats',
    operationId: 'getWebhookStats',
    'x-client-method': 'webhooks.stats',
    summary: 'Retrieve the statistics of a webhook',
    description: [
      'The results and durations of attempts, in total and over time. Tests and examples do not count. An attempt counts at the time of its end. The last point is the current one, and the totals cover all points.',
    ].join(' '),
    params: webhookInPath,
    query: statisticsQuery,
    answers: { 200: answer('Returns the figures.', statisticsSchema, { examples: statisticsExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(stats, async (c) => {
    const { window } = c.req.valid('query');
    const { series, ...figures } = await getStatistics(c.get('scope'), c.req.valid('param').id, window);
    const points = series.map(({ at, ...point }) => ({ at: at.toISOString(), ...point }));
    return c.json(success({ ...figures, series: points }), 200);
  });
  return routes;
}
