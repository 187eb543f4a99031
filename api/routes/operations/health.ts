import type { OpenAPIHono, z } from '@hono/zod-openapi';
import { decisiveDependencies, type Findings, healthStatus, isReady } from '../../../src/operations/core/health.ts';
import { drainAll } from '../../../src/operations/drain-all.ts';
import { type Build, inspectService } from '../../../src/operations/inspect.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { openAnswer, publicFailures } from '../../schemas/answers.ts';
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

type Outcomes = z.infer<typeof readySchema>['checks'];

const outcomes = (findings: Findings) =>
  Object.fromEntries(Object.entries(findings).map(([name, { ok }]) => [name, ok ? 'ok' : 'failed'])) as Outcomes;

/** The answer is only valid now. */
const fresh = (c: ApiContext) => c.header('Cache-Control', 'no-store');

/** Probes for load balancers, and the operator's endpoints. */
export function operationRoutes(services: Services, build: Build): OpenAPIHono<ApiEnv> {
  const { health: checks, draining, env } = services;
  const decisive = decisiveDependencies(env.STORAGE_DRIVER);
  const look = async (): Promise<Findings> => {
    const findings = await checks.look();
    return Object.fromEntries(decisive.map((name) => [name, findings[name]]));
  };
  const routes = newRoutes();
  const open = operationsOf({ tag: 'Operations', security: [], failuresOf: publicFailures });
  const operators = operationsOf({
    tag: 'Operations',
    key: requireCronSecret(services),
    security: [{ cronSecret: [] }],
    failuresOf: publicFailures,
  });

  const version = open({
    method: 'get',
    path: '/version',
    operationId: 'getVersion',
    'x-client-method': 'operations.version.get',
    summary: 'Retrieve the deployed version',
    description: 'Depends on nothing else, so it answers even when the database is down.',
    answers: {
      200: openAnswer('Returns the version and the commit.', versionSchema, { examples: { deployed: versionExample } }),
    },
  });
  routes.openapi(version, (c) => c.json({ version: build.version, commit: build.commit }, 200));

  const health = open({
    method: 'get',
    path: '/health',
    operationId: 'getHealth',
    'x-client-method': 'operations.health.get',
    summary: 'Check liveness',
    description: '`degraded` means that a dependency fails; restarting the process would not help.',
    query: strictQuery,
    answers: {
      200: openAnswer('The process is alive.', healthSchema, {
        fresh: true,
        examples: {
          healthy: { status: 'healthy', checks: allOk },
          degraded: { status: 'degraded', checks: databaseAway },
        },
      }),
      503: openAnswer('With `strict`: the database or required configuration is unavailable.', healthSchema, {
        fresh: true,
        retryAfter: true,
        examples: { unhealthy: { status: 'unhealthy', checks: databaseAway } },
      }),
    },
    failures: [400],
  });
  routes.openapi(health, async (c) => {
    fresh(c);
    const { strict } = c.req.valid('query');
    const findings = await look();
    const status = healthStatus(findings, { strict: strict === '1' || strict === 'true' });
    if (status !== 'unhealthy') return c.json({ status, checks: outcomes(findings) }, 200);
    c.header('Retry-After', '1');
    return c.json({ status, checks: outcomes(findings) }, 503);
  });

  const ready = open({
    method: 'get',
    path: '/ready',
    operationId: 'getReadiness',
    'x-client-method': 'operations.readiness.get',
    summary: 'Check readiness',
    description: 'Answers within about a second, even when a dependency does not respond.',
    answers: {
      200: openAnswer('The process accepts requests.', readySchema, {
        fresh: true,
        examples: { ready: { ready: true, checks: allOk } },
      }),
      503: openAnswer('The process is draining, or a dependency is unavailable.', readySchema, {
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
    const findings = await look();
    const isOpen = isReady(findings) && !draining.signal.aborted;
    return c.json({ ready: isOpen, checks: outcomes(findings) }, isOpen ? 200 : 503);
  });

  for (const method of ['get', 'post'] as const) {
    const admin = operators({
      method,
      path: '/admin/health',
      operationId: `${method}AdminHealth`,
      'x-client-method': `operations.adminHealth.${method === 'get' ? 'get' : 'check'}`,
      summary: 'Inspect the service',
      description:
        'Returns the state and latency of each dependency, the depth of the outbox, and the running versions.',
      answers: {
        200: openAnswer('Returns the findings.', adminHealthSchema, {
          fresh: true,
          examples: { well: adminHealthExample },
        }),
      },
      failures: [401],
    });
    routes.openapi(admin, async (c) => {
      fresh(c);
      return c.json(await inspectService(services, build), 200);
    });

    const gateway = operators({
      method,
      path: '/cron/webhook-gateway',
      operationId: `${method}WebhookGateway`,
      'x-client-method': `operations.webhookGateway.${method === 'get' ? 'get' : 'drain'}`,
      summary: 'Drain the outbox',
      description: 'Processes the entries that committed changes enqueued. Safe to call at any time and concurrently.',
      answers: {
        200: openAnswer('Returns how many entries were processed.', drainedSchema, {
          fresh: true,
          examples: { some: { drained: 3 } },
        }),
      },
      failures: [401, 503],
    });
    routes.openapi(gateway, async (c) => {
      fresh(c);
      return c.json({ drained: await drainAll(services.drain) }, 200);
    });
  }
  return routes;
}
