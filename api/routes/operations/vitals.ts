import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { createMiddleware } from 'hono/factory';
import { type Beacon, isVital, pageOf } from '../../../src/operations/core/vitals.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiEnv } from '../../context.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { invalidRequest, newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { emptyAnswer, jsonContent, plainAnswer, publicFailures } from '../../schemas/answers.ts';
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

/** Reads one beacon or a list of them, and reports the problem of each. */
const readBeacons = createMiddleware<ApiEnv>(async (c, next) => {
  const sent = c.get('body');
  const read = Array.isArray(sent) ? beaconListSchema.safeParse(sent) : beaconSchema.safeParse(sent);
  if (!read.success) throw invalidRequest(read.error);
  const beacons: Beacon[] = [read.data]
    .flat()
    .filter(({ name }) => isVital(name))
    .map(({ name, value, path = '' }) => ({ name, value, path: pageOf(path) }));
  c.set('body', beacons);
  await next();
});

/** Web vitals: performance measurements of the product's own pages. */
export function vitalRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { vitals, addressLimits } = services;
  const routes = newRoutes();
  // The list in the document refers to it by its name.
  routes.openAPIRegistry.register('WebVital', beaconSchema);
  const limit = createMiddleware<ApiEnv>((c, next) => {
    addressLimits.take('vitals', limitedRange(c.get('clientAddress')()));
    return next();
  });

  const content = jsonContent(beaconsSchema, beaconExamples);
  const receive = createRoute({
    method: 'post',
    path: '/performance/vitals',
    tags,
    security: [],
    operationId: 'reportVitals',
    'x-client-method': 'operations.vitals.report',
    summary: 'Report web vitals',
    description:
      'Takes a list of measurements, at most 16 KiB. The content type `text/plain`, which `navigator.sendBeacon` sends, is accepted too. Names other than `LCP`, `CLS`, `INP`, `FCP`, `TTFB` and `FID` are dropped.',
    middleware: [limit, jsonBody({ maxBytes, asText: true }), readBeacons] as const,
    request: { body: { content: { ...content, 'text/plain': content['application/json'] } } },
    // Below: generators of clients refuse an operation with a second type.
    hide: true,
    responses: { 204: emptyAnswer('The measurements were recorded.'), ...publicFailures(400, 413, 415) },
  });
  const { middleware: _, hide: __, ...documented } = receive;
  routes.openAPIRegistry.registerPath({ ...documented, request: { body: { content } } });
  routes.openapi(receive, (c) => {
    vitals.record(c.get('body') as Beacon[]);
    return c.body(null, 204);
  });

  const operation = operationsOf({ tag: 'Operations', key: requireKey(services), hasDialects: false });

  const summarize = operation({
    method: 'get',
    path: '/performance/vitals',
    operationId: 'getVitals',
    'x-client-method': 'operations.vitals.get',
    summary: 'Retrieve web vitals',
    description: 'Percentiles of the latest measurements, by metric and page.',
    answers: { 200: plainAnswer('Returns the percentiles.', vitalsSchema, { measured: vitalsExample }) },
  });
  routes.openapi(summarize, async (c) => c.json({ vitals: await vitals.summary() }, 200));
  return routes;
}
