import { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from '../../context.ts';
import { pageSecurity } from '../../middleware/security-headers.ts';

/** The page contacts no third party: no fonts, no telemetry, no assistant, no proxy. */
const configuration = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  hideClientButton: true,
  // Named first in the document, too, but the page would have its user choose.
  authentication: { preferredSecurityScheme: 'bearer' },
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
};

const attribute = (value: object) => JSON.stringify(value).replaceAll('"', '&quot;');

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Atelier API</title>
  </head>
  <body>
    <noscript>This page needs JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>.</noscript>
    <script id="api-reference" type="application/json" data-configuration="${attribute(configuration)}"></script>
    <script src="/docs/scalar.js"></script>
  </body>
</html>
`;

const dayInSeconds = 86_400;

/** The reference page, rendered from the OpenAPI document in the browser. */
export function docsRoutes(): OpenAPIHono<ApiEnv> {
  const routes = new OpenAPIHono<ApiEnv>();
  routes.get('/docs', pageSecurity, (c) => c.html(page));
  routes.get('/docs/scalar.js', async (c) => {
    // Large and rarely needed: loaded on the first request.
    const { compressedScript } = await import('./reference-script.ts');
    const script = await compressedScript;
    return c.body(script, 200, {
      'Content-Type': 'text/javascript; charset=utf-8',
      'Content-Encoding': 'gzip',
      'Cache-Control': `public, max-age=${dayInSeconds}`,
    });
  });
  return routes;
}
