import type { OpenAPIHono } from '@hono/zod-openapi';
import { checkLimits } from '../../../../src/scheduling/availability/availability.ts';
import {
  findHostLimits,
  findSettings,
  putHostLimits,
  putLimits,
} from '../../../../src/scheduling/availability/settings.ts';
import { hostIds } from '../../../../src/scheduling/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  hostOfLimits,
  limitCheckExamples,
  limitCheckQuery,
  limitCheckSchema,
  limitsExamples,
  limitsOf,
  limitsSchema,
  newLimitsExamples,
  newLimitsSchema,
} from '../../../schemas/scheduling/limits.ts';

export function limitRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const operation = operationsOf({ tag: 'Scheduling', key });

  const get = operation({
    method: 'get',
    path: '/rate-limits',
    operationId: 'getBookingLimits',
    'x-client-method': 'scheduling.rateLimits.get',
    summary: 'Retrieve the limits on bookings',
    description: 'The limits for all hosts, or the additional ones of the host `hostId`. Null means no limit.',
    query: hostOfLimits,
    answers: { 200: answer('Returns the limits.', limitsSchema, { examples: limitsExamples }) },
    failures: [404],
  });
  const put = operation({
    method: 'put',
    path: '/rate-limits',
    operationId: 'putBookingLimits',
    'x-client-method': 'scheduling.rateLimits.put',
    summary: 'Set the limits on bookings',
    description:
      'Replaces all limits: an omitted one means no limit. Existing bookings stay. With `hostId` the limits apply to one host, in addition to those for all hosts: the stricter one decides.',
    body: jsonContent(newLimitsSchema, newLimitsExamples),
    answers: { 200: answer('Returns the limits.', limitsSchema, { examples: limitsExamples }) },
  });
  const check = operation({
    method: 'get',
    path: '/rate-limits/check',
    operationId: 'checkBookingLimits',
    'x-client-method': 'scheduling.rateLimits.check',
    summary: 'Check the limits on bookings for a day',
    description: 'How many more bookings of an event type the limits allow.',
    query: limitCheckQuery,
    answers: {
      200: answer('Returns the number of bookings that remain.', limitCheckSchema, { examples: limitCheckExamples }),
    },
    failures: [404],
  });

  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const { hostId: named } = c.req.valid('query');
    if (named === undefined) return c.json(success((await findSettings(c.get('scope'))).limits), 200);
    const { hostId, limits } = await findHostLimits(c.get('scope'), named);
    return c.json(success({ ...limits, hostId: hostIds.format(hostId) }), 200);
  });
  routes.openapi(put, async (c) => {
    const { hostId: named, ...given } = c.req.valid('json');
    const limits = limitsOf(given);
    if (named === undefined || named === null) {
      await putLimits(c.get('scope'), limits);
      return c.json(success(limits), 200);
    }
    const hostId = await putHostLimits(c.get('scope'), named, limits);
    return c.json(success({ ...limits, hostId: hostIds.format(hostId) }), 200);
  });
  routes.openapi(check, async (c) => {
    const { date, eventTypeId } = c.req.valid('query');
    return c.json(success(await checkLimits(c.get('scope'), eventTypeId, date)), 200);
  });
  return routes;
}
