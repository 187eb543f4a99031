import type { OpenAPIHono } from '@hono/zod-openapi';
import { findAvailability } from '../../../../src/scheduling/availability/availability.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { availabilityQuery, availabilitySchema } from '../../../schemas/scheduling/booking.ts';
import { availabilityExamples } from '../../../schemas/scheduling/booking-examples.ts';

export function availabilityRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Scheduling', key: requireKey(services, 'scheduling') });

  const get = operation({
    method: 'get',
    path: '/availability',
    operationId: 'getAvailability',
    'x-client-method': 'scheduling.availability.get',
    summary: 'List the times of an event type',
    description: [
      'The times at which a booking could start, one duration apart from the beginning of each open range of the host. A',
      'time belongs to the day on which it starts in `timezone`. An inactive event type has none. The last day is 9999-12-30 (UTC).',
      'A request for days with more than 10,000 times is refused; `details.longestEnd` is then the last allowed `end`.',
    ].join(' '),
    query: availabilityQuery,
    answers: { 200: answer('Returns the times.', availabilitySchema, { examples: availabilityExamples }) },
    failures: [404],
  });

  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const { eventTypeId, start, end, timezone = 'UTC' } = c.req.valid('query');
    const slots = await findAvailability(c.get('scope'), eventTypeId, { start, end, timezone });
    return c.json(success({ slots, timezone }), 200);
  });
  return routes;
}
