import { OpenAPIHono } from '@hono/zod-openapi';
import { html } from 'hono/html';
import type { Build } from '../../../src/operations/inspect.ts';
import type { ApiEnv } from '../../context.ts';
import type { Mount } from '../../mount.ts';
import { pageOf, pagePolicy } from '../../pages/html-page.ts';

const links = { docs: '/docs', guides: '/docs/guides', openapi: '/openapi.json', health: '/api/health' } as const;

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#1f3a5f"/><path d="M8 25 16 6l8 19M11 18h10" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>`;

const dayInSeconds = 86_400;

const pageFor = (mounts: readonly Mount[]) =>
  pageOf(
    'Atelier',
    html`<p>A platform for AI workflows behind a REST API. Runs are durable: after a crash they continue.</p>
      <ul>
        <li><a href="${links.docs}">API reference</a>, with a first workflow and an example of each feature</li>
        <li><a href="${links.guides}">Guides</a> to each feature, to self-hosting and to the code</li>
        <li><a href="${links.openapi}">OpenAPI document</a>, for generators of clients</li>
        <li><a href="${links.health}">Health</a> of this installation</li>
      </ul>
      <dl>
        ${mounts.flatMap(({ overview }) =>
          overview
            ? html`<dt>${overview.title}</dt>
        <dd>${overview.text}</dd>
        `
            : [],
        )}</dl>
      <p>Every request needs an API key of your organization. Its operator creates keys.</p>`,
    { icon: '/favicon.svg' },
  );

/** An overview for a visitor who only knows the address. */
export function welcomeRoutes({ version }: Build, mounts: readonly Mount[]): OpenAPIHono<ApiEnv> {
  const page = pageFor(mounts);
  const routes = new OpenAPIHono<ApiEnv>();
  routes.get('/', (c) => {
    c.header('Vary', 'Accept');
    const isBrowser = c.req.header('accept')?.includes('text/html') ?? false;
    if (!isBrowser) return c.json({ name: 'Atelier', version, ...links });
    c.header('Content-Security-Policy', `${pagePolicy}; img-src 'self'`);
    return c.html(page);
  });
  // Browsers request the second path for every page that names no icon.
  for (const path of ['/favicon.svg', '/favicon.ico']) {
    routes.get(path, (c) =>
      c.body(icon, 200, { 'Content-Type': 'image/svg+xml', 'Cache-Control': `public, max-age=${dayInSeconds}` }),
    );
  }
  return routes;
}
