import { OpenAPIHono } from '@hono/zod-openapi';
import type { Build } from '../../../src/operations/inspect.ts';
import type { ApiEnv } from '../../context.ts';

const links = { docs: '/docs', openapi: '/openapi.json', health: '/api/health' } as const;

/** No style and no script: the policy of every answer forbids both. */
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Atelier</title>
  </head>
  <body>
    <h1>Atelier</h1>
    <p>A platform for AI workflows behind a REST API.</p>
    <ul>
      <li><a href="${links.docs}">API reference</a></li>
      <li><a href="${links.openapi}">OpenAPI document</a></li>
      <li><a href="${links.health}">Health</a></li>
    </ul>
  </body>
</html>
`;

/** What is here, for somebody who only knows the address. */
export function welcomeRoutes({ version }: Build): OpenAPIHono<ApiEnv> {
  const routes = new OpenAPIHono<ApiEnv>();
  routes.get('/', (c) => {
    c.header('Vary', 'Accept');
    const isBrowser = c.req.header('accept')?.includes('text/html') ?? false;
    return isBrowser ? c.html(page) : c.json({ name: 'Atelier', version, ...links });
  });
  return routes;
}
