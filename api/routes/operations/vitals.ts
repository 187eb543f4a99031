import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { createMiddleware } from 'hono/factory';
import { type Beacon, pageOf } from '../../../src/operations/core/vitals.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiEnv } from '../../context.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { invalidRequest, newRoutes } from '../../new-routes.ts';
import {
  emptyAnswer,
  jsonContent,
  keySecurity,
  openFailures,
  plainAnswer,
  plainFailures,
} from '../../schemas/answers.ts';
import {
  beaconExamples,
  beaconListSchema,
  beaconSchema,
  beaconsSchema,
  vitalsExample,
  vitalsSchema,
} from '../../schemas/operations/health.ts';

const tags = ['Operations'];
const maxBytes = 16 * 1024;

/** Reads one or several, whatever the body calls itself, and says of each what is wrong with it. */
const readBeacons = createMiddleware<ApiEnv>(async (c, next) => {
  const sent = c.get('body');
  const read = Array.isArray(sent) ? beaconListSchema.safeParse(sent) : beaconSchema.safeParse(sent);
  if (!read.success) throw invalidRequest(read.error);
  const beacons: Beacon[] = [read.data]
    .flat()
    .map(({ name, value, path = '' }) => ({ name, value, path: pageOf(path) }));
  c.set('body', beacons);
  await next();
});

/** What the product's own pages tell of their speed. */
export function vitalRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { vitals } = services;
  const routes = newRoutes();
  const content = jsonContent(beaconsSchema, beaconExamples);

  const receive = createRoute({
    method: 'post',
    path: '/performance/vitals',
    tags,
    security: [],
    operationId: 'reportVitals',
    summary: 'Receive measures from a browser',
    description: 'One or several, at most 16 KiB. `navigator.sendBeacon` sends JSON as text/plain.',
    middleware: [jsonBody({ maxBytes, asText: true }), readBeacons] as const,
    request: { body: { content: { ...content, 'text/plain': content['application/json'] } } },
    responses: { 204: emptyAnswer('Taken.'), ...openFailures(400, 413, 415) },
  });
  routes.openapi(receive, (c) => {
    vitals.record(c.get('body') as Beacon[]);
    return c.body(null, 204);
  });

  const summarize = createRoute({
    method: 'get',
    path: '/performance/vitals',
    tags,
    security: keySecurity(),
    operationId: 'getVitals',
    summary: 'How fast the pages are',
    description: 'By what was measured and on which page; percentiles of the latest measures.',
    middleware: [requireKey(services)] as const,
    responses: {
      200: plainAnswer('By measure and page.', vitalsSchema, { measured: vitalsExample }),
      ...plainFailures(),
    },
  });
  routes.openapi(summarize, async (c) => c.json({ vitals: await vitals.summary() }, 200));
  return routes;
}
