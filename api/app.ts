import { OpenAPIHono } from '@hono/zod-openapi';
import type { Build } from '../src/operations/inspect.ts';
import { AddressRanges } from '../src/platform/address-ranges.ts';
import { AppError } from '../src/platform/errors.ts';
import type { Services } from '../src/services.ts';
import { allowedMethods } from './allowed-methods.ts';
import { chooseDialect, hasDialects } from './dialects/choose-dialect.ts';
import { type Envelope, e1, e2 } from './envelopes.ts';
import { beginRequest } from './middleware/begin-request.ts';
import { limitBroadly } from './middleware/limit-broadly.ts';
import { observe } from './middleware/observe.ts';
import { traceRequests } from './middleware/trace.ts';
import { openApiDocument } from './openapi.ts';
import { docsRoutes } from './routes/docs/page.ts';
import { operationRoutes } from './routes/operations/health.ts';
import { vitalRoutes } from './routes/operations/vitals.ts';
import { creditRoutes } from './routes/v1/account/credits.ts';
import { healthRoutes } from './routes/v1/account/health.ts';
import { usageRoutes } from './routes/v1/account/usage.ts';
import { runControlRoutes } from './routes/v1/automation/run-control.ts';
import { runEventRoutes } from './routes/v1/automation/run-events.ts';
import { runRoutes } from './routes/v1/automation/runs.ts';
import { scheduleRoutes } from './routes/v1/automation/schedules.ts';
import { triggerRoutes } from './routes/v1/automation/trigger.ts';
import { workflowRoutes } from './routes/v1/automation/workflows.ts';
import { deliveryRoutes } from './routes/v1/webhooks/deliveries.ts';
import { replayRoutes } from './routes/v1/webhooks/replay.ts';
import { webhookRoutes } from './routes/v1/webhooks/webhooks.ts';
import { type ApiEnv, renderError, surface } from './surface.ts';

const e2Prefixes = ['/api/chat', '/api/agents', '/api/voice'];
const isBelow = (path: string, prefix: string) => path === prefix || path.startsWith(`${prefix}/`);

const envelopeOf = (path: string): Envelope => (e2Prefixes.some((prefix) => isBelow(path, prefix)) ? e2 : e1);

/** The whole API, built and not listening: one line per prefix, and what answers where no route does. */
export function buildApp(services: Services, build: Build): OpenAPIHono<ApiEnv> {
  const app = new OpenAPIHono<ApiEnv>();
  const { env } = services;
  app.use(beginRequest(services.log, new AddressRanges(env.TRUSTED_PROXIES)));
  if (services.tracing) app.use(traceRequests(services.tracing));
  app.use(observe(services.metrics));
  if (env.BROAD_RATE_MAX !== undefined) {
    const [max, windowSeconds] = [env.BROAD_RATE_MAX, env.BROAD_RATE_WINDOW_SECONDS];
    app.use(limitBroadly({ max, windowSeconds, bypass: env.BROAD_RATE_BYPASS }));
  }
  app.onError((error, c) => renderError(c, error, envelopeOf(c.req.path), hasDialects(c.req.path)));
  app.notFound((c) => {
    const { path } = c.req;
    const allowed = allowedMethods(app, path);
    const failure =
      allowed.length > 0
        ? new AppError('method_not_allowed', `${c.req.method} is not allowed here.`, { allowed })
        : new AppError('not_found', 'There is nothing at this path.');
    if (allowed.length > 0) c.header('Allow', allowed.join(', '));
    c.set('dialect', chooseDialect({ header: c.req.header('x-api-variant'), path }));
    return renderError(c, failure, envelopeOf(path), hasDialects(path));
  });

  const v1 = surface();
  v1.route('/', workflowRoutes(services));
  v1.route('/', scheduleRoutes(services));
  v1.route('/', runRoutes(services));
  v1.route('/', runControlRoutes(services));
  v1.route('/', runEventRoutes(services));
  v1.route('/', triggerRoutes(services));
  v1.route('/', webhookRoutes(services));
  v1.route('/', deliveryRoutes(services));
  v1.route('/', replayRoutes(services));
  v1.route('/', healthRoutes(services));
  v1.route('/', creditRoutes(services));
  v1.route('/', usageRoutes(services));
  app.route('/api/v1', v1);
  app.route('/v1', v1);
  app.route('/api', operationRoutes(services, build));
  app.route('/api', vitalRoutes(services));
  app.route('/', docsRoutes());

  const { PUBLIC_URL: publicUrl, WEBHOOK_HEADER_BRAND: webhookBrand } = env;
  const document = openApiDocument(app, { version: build.version, publicUrl, webhookBrand });
  app.get('/openapi.json', (c) => c.json(document));
  return app;
}
