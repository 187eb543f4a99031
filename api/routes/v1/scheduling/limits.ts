import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { checkLimits } from '../../../../src/scheduling/availability.ts';
import { hostIds } from '../../../../src/scheduling/core/ids.ts';
import { findHostLimits, findSettings, putHostLimits, putLimits } from '../../../../src/scheduling/settings.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity } from '../../../schemas/answers.ts';
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

const tags = ['Scheduling'];
const security = keySecurity('scheduling');

export function limitRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const get = createRoute({
    method: 'get',
    path: '/rate-limits',
    tags,
    security,
    operationId: 'getBookingLimits',
    summary: 'Retrieve the limits on bookings',
    description: 'Those of all hosts, or those that `hostId` has beside them. Null where there is no limit.',
    middleware: [key] as const,
    request: { query: hostOfLimits },
    responses: { 200: answer('Returns the limits.', limitsSchema, { examples: limitsExamples }), ...failures(404) },
  });
  const put = createRoute({
    method: 'put',
    path: '/rate-limits',
    tags,
    security,
    operationId: 'putBookingLimits',
    summary: 'Set the limits on bookings',
    description:
      'Replaces them as a whole: what is left out has no limit. Existing bookings stay. With `hostId` they are those of one host, which hold beside those of all hosts: the stricter one decides.',
    middleware: [key, jsonBody()] as const,
    request: { body: { required: true, content: jsonContent(newLimitsSchema, newLimitsExamples) } },
    responses: {
      200: answer('Returns the limits.', limitsSchema, { examples: limitsExamples }),
      ...failures(413, 415),
    },
  });
  const check = createRoute({
    method: 'get',
    path: '/rate-limits/check',
    tags,
    security,
    operationId: 'checkBookingLimits',
    summary: 'Check the limits on bookings for a day',
    description: 'How many more bookings of an event type the limits leave room for.',
    middleware: [key] as const,
    request: { query: limitCheckQuery },
    responses: {
      200: answer('Returns what is left.', limitCheckSchema, { examples: limitCheckExamples }),
      ...failures(404),
    },
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
