import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './surface.ts';

const description = [
  'Workflows of AI steps, run durably.',
  '',
  'Every path below `/api/v1` exists below `/v1` too. Requests are read in either of two dialects, A and B; an answer is',
  'in one of them: the header `X-API-Variant`, else a `wf_` or `run_` id in the path, else the body of execute, else the',
  "key's own setting decides.",
].join('\n');

export interface OpenApiSettings {
  version: string;
  publicUrl: string;
}

/** The OpenAPI 3.1 document of the routes as they are mounted. */
export function openApiDocument(app: OpenAPIHono<ApiEnv>, { version, publicUrl }: OpenApiSettings) {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Atelier', version, description },
    servers: [{ url: publicUrl }],
    tags: [{ name: 'Workflows' }, { name: 'Runs' }, { name: 'Operations' }],
  });
}
