import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { type Findings, healthStatus, isReady } from '../../../src/operations/core/health.ts';
import { drainAll } from '../../../src/operations/drain-all.ts';
import { type Build, inspectService } from '../../../src/operations/inspect.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import { openAnswer, openFailures } from '../../schemas/answers.ts';
import {
  adminHealthExample,
  adminHealthSchema,
  allOk,
  databaseAway,
  drainedSchema,
  healthSchema,
  readySchema,
  strictQuery,
  versionExample,
  versionSchema,
} from '../../schemas/operations/health.ts';
import { requireCronSecret } from './require-cron-secret.ts';

const tags = ['Operations'];
const security = [{ cronSecret: [] }];

const outcomes = (findings: Findings) =>
  Object.fromEntries(
    Object.entries(findings).map(([name, { ok }]) => [name, ok ? ('ok' as const) : ('failed' as const)]),
  );

/** What is true now is no use to a cache. */
const fresh = (c: ApiContext) => c.header('Cache-Control', 'no-store');

/** How the service is, for load balancers and its operator. */
export function operationRoutes(services: Services, build: Build): OpenAPIHono<ApiEnv> {
  const { health: checks, draining } = services;
  const routes = newRoutes();

  const version = createRoute({
    method: 'get',
    path: '/version',
    tags,
    security: [],
    operationId: 'getVersion',
    summary: 'What is deployed',
    description: 'Asks nobody, so that it answers whatever else is away.',
    responses: {
      200: openAnswer('Version and commit.', versionSchema, { examples: { deployed: versionExample } }),
      ...openFailures(),
    },
  });
  routes.openapi(version, (c) => c.json({ version: build.version, commit: build.commit }, 200));

  const health = createRoute({
    method: 'get',
    path: '/health',
    tags,
    security: [],
    operationId: 'getHealth',
    summary: 'Whether the process lives',
    description: 'Degraded means that something it depends on is not well; restarting the process would not help.',
    request: { query: strictQuery },
    responses: {
      200: openAnswer('It lives.', healthSchema, {
        fresh: true,
        examples: {
          healthy: { status: 'healthy', checks: allOk },
          degraded: { status: 'degraded', checks: databaseAway },
        },
      }),
      ...openFailures(400),
      503: openAnswer('With `strict`: the database or the configuration is not there.', healthSchema, {
        fresh: true,
        examples: { unhealthy: { status: 'unhealthy', checks: databaseAway } },
      }),
    },
  });
  routes.openapi(health, async (c) => {
    fresh(c);
    const { strict } = c.req.valid('query');
    const findings = await checks.look();
    const status = healthStatus(findings, { strict: strict === '1' || strict === 'true' });
    return c.json({ status, checks: outcomes(findings) }, status === 'unhealthy' ? 503 : 200);
  });

  const ready = createRoute({
    method: 'get',
    path: '/ready',
    tags,
    security: [],
    operationId: 'getReadiness',
    summary: 'Whether requests should be sent here',
    description: 'Within about a second, even while something it depends on does not answer at all.',
    responses: {
      200: openAnswer('They should.', readySchema, {
        fresh: true,
        examples: { ready: { ready: true, checks: allOk } },
      }),
      ...openFailures(),
      503: openAnswer('They should not: the process drains, or something it depends on does not answer.', readySchema, {
        fresh: true,
        examples: {
          draining: { ready: false, checks: allOk },
          databaseAway: { ready: false, checks: databaseAway },
        },
      }),
    },
  });
  routes.openapi(ready, async (c) => {
    fresh(c);
    const findings = await checks.look();
    const isOpen = isReady(findings) && !draining.signal.aborted;
    return c.json({ ready: isOpen, checks: outcomes(findings) }, isOpen ? 200 : 503);
  });

  for (const method of ['get', 'post'] as const) {
    const middleware = [requireCronSecret(services)];
    const admin = createRoute({
      method,
      path: '/admin/health',
      tags,
      security,
      operationId: `${method}AdminHealth`,
      summary: 'How the service is, in detail',
      description: 'What each dependency answered and how fast, how much the outbox holds, and what runs here.',
      middleware,
      responses: {
        200: openAnswer('What was found.', adminHealthSchema, { fresh: true, examples: { well: adminHealthExample } }),
        ...openFailures(401),
      },
    });
    routes.openapi(admin, async (c) => {
      fresh(c);
      return c.json(await inspectService(services, build), 200);
    });

    const gateway = createRoute({
      method,
      path: '/cron/webhook-gateway',
      tags,
      security,
      operationId: `${method}WebhookGateway`,
      summary: 'Drain the outbox',
      description: 'Does what committed changes still owe. Safe to call at any time, any number of times at once.',
      middleware,
      responses: {
        200: openAnswer('How much was done.', drainedSchema, { fresh: true, examples: { some: { drained: 3 } } }),
        ...openFailures(401, 503),
      },
    });
    routes.openapi(gateway, async (c) => {
      fresh(c);
      return c.json({ drained: await drainAll(services.drain) }, 200);
    });
  }
  return routes;
}
