import { OpenAPIHono } from '@hono/zod-openapi';
import type { Build } from '../src/operations/inspect.ts';
import { AppError } from '../src/platform/errors.ts';
import { catalog, type Services } from '../src/services.ts';
import { limitedPrefixes } from '../src/tenancy/address-limits.ts';
import type { ApiContext, ApiEnv } from './context.ts';
import { chooseDialect } from './dialects/choose-dialect.ts';
import { renderError } from './errors/render-error.ts';
import { LiteralFirstRouter } from './literal-first-router.ts';
import { beginRequest } from './middleware/begin-request.ts';
import { limitAddresses, limitBroadly } from './middleware/limit-addresses.ts';
import { mounts } from './mounts.ts';
import { documentHandler } from './openapi/document-handler.ts';
import { openApiDocument } from './openapi/openapi.ts';
import { allowedMethods } from './requests/allowed-methods.ts';
import { trustedProxies } from './requests/client-address.ts';
import { answerPreflight } from './requests/cross-origin.ts';
import { type RefuseEarly, refuseEarly } from './requests/refuse-early.ts';
import { pathWithoutSecret } from './requests/trigger-path.ts';
import { surfaceFinder } from './surface.ts';

type App = OpenAPIHono<ApiEnv>;

/** 405 with the methods of the path, which a preflight asks for, or 404 if the path has none. */
function answerUnmatched(app: App, c: ApiContext): Response {
  const { path, method } = c.req;
  const allowed = allowedMethods(app, path);
  c.set('dialect', chooseDialect({ header: c.req.header('x-api-variant'), path }));
  if (allowed.length === 0) return renderError(c, new AppError('not_found', 'Nothing exists at this path.'));
  const preflight = answerPreflight(c, allowed);
  if (preflight) return preflight;
  c.header('Allow', allowed.join(', '));
  return renderError(c, new AppError('method_not_allowed', `${method} is not allowed at this path.`, { allowed }));
}

/** The whole API, built from the table of mounts and not yet listening. */
export function buildApp(services: Services, build: Build): App {
  return openApi(services, build).app;
}

/** The same with what refuses requests before they reach it. */
export function openApi(services: Services, build: Build): { app: App; refuse: RefuseEarly } {
  const app: App = new OpenAPIHono({ getPath: pathWithoutSecret, router: new LiteralFirstRouter() });
  const { env } = services;
  const findSurface = surfaceFinder(mounts);
  const proxies = trustedProxies(env);
  app.use(beginRequest(services, proxies, findSurface));
  if (env.BROAD_RATE_MAX !== undefined) {
    const [max, windowSeconds] = [env.BROAD_RATE_MAX, env.BROAD_RATE_WINDOW_SECONDS];
    app.use(limitBroadly({ max, windowSeconds, bypass: env.BROAD_RATE_BYPASS }));
  }
  for (const prefix of limitedPrefixes) app.use(`${prefix}*`, limitAddresses(services.addressLimits));
  app.onError((error, c) => renderError(c, error));
  app.notFound((c) => answerUnmatched(app, c));

  for (const { paths, routes } of mounts) {
    const built = routes(services, build, mounts);
    for (const path of paths) for (const one of built) app.route(path, one);
  }

  const { PUBLIC_URL: publicUrl, WEBHOOK_HEADER_BRAND: webhookBrand } = env;
  const document = () => openApiDocument(app, mounts, { version: build.version, publicUrl, webhookBrand, catalog });
  app.get('/openapi.json', documentHandler(document));
  return { app, refuse: refuseEarly(app, services, findSurface, proxies) };
}
