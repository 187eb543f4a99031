import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './context.ts';
import type { Mount, SecurityScheme } from './mount.ts';
import { failureComponents, failureSchemas } from './schemas/failures.ts';
import { headerComponents } from './schemas/headers.ts';
import { eventRequest } from './schemas/webhooks/event.ts';
import { surfaceFinder } from './surface.ts';

const description = [
  'Durable workflows of AI steps behind a REST API.',
  '',
  '**Dialects.** Every path below `/api/v1` is also served below `/v1`. Both accept requests in two dialects, A and B. An',
  'answer is in the dialect chosen by, in this order: the header `X-API-Variant`; a `wf_` or `run_` id in the path; the',
  'body of an execute request; the setting of the API key.',
  '',
  '**Retries.** Send an `Idempotency-Key` to retry a POST safely. 429 and 503 answers carry `Retry-After`.',
  '',
  '**Requests.** Bodies are JSON in UTF-8, at most 1 MiB and 64 levels deep, without `Content-Encoding`. An unknown path',
  'is answered with 404 `not_found`, and a method that a path does not support with 405 `method_not_allowed` and `Allow`.',
  'HEAD is answered like GET, without a body. A request that is not valid HTTP is answered with 400, 408 or 431, and the',
  'connection is closed. A malformed id, or the id of a resource of another organization, is answered like an unknown id.',
  '',
  '**Versioning.** Fields and operations are added without notice. Answers of a deprecated operation carry',
  '`X-API-Deprecated` for at least twelve months before it is removed.',
].join('\n');

const keySchemes: Record<string, SecurityScheme> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk_live_… or sk_test_…',
    description: 'An API key. Each operation names the scope that the key needs. Never send a key in a query string.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'An API key in its own header. Requests whose two headers carry different keys are refused.',
  },
};

const parameters = {
  Variant: {
    name: 'X-API-Variant',
    in: 'header',
    description: 'The dialect of the answer.',
    schema: { type: 'string', enum: ['A', 'B'] },
  },
  CorrelationId: {
    name: 'x-correlation-id',
    in: 'header',
    description: 'Your id for the operation that this request is part of. A malformed id is replaced by a new one.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' },
  },
} as const;

const reference = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

// biome-ignore lint/suspicious/noExplicitAny: a JSON document is walked and changed here
type Json = any;

export interface OpenApiSettings {
  version: string;
  publicUrl: string;
  /** The word in the names of the headers of webhooks. */
  webhookBrand: string;
}

/** `/v1` gives `AtV1`: operation ids are unique in a document, also those of routes that are served at two paths. */
const suffixOf = (alias: string) =>
  ['at', ...alias.split('/')].map((part) => part.slice(0, 1).toUpperCase() + part.slice(1)).join('');

function addSuffix(operation: Json, suffix: string): void {
  operation.operationId += suffix;
  for (const { links = {} } of Object.values<Json>(operation.responses)) {
    for (const link of Object.values<Json>(links)) link.operationId += suffix;
  }
}

/** Adds the components that the document refers to, and no others. */
function addReferred(document: Json, kind: string, all: Record<string, unknown>): void {
  const text = JSON.stringify(document);
  const used = Object.entries(all).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`));
  document.components[kind] = Object.fromEntries(used);
}

/** The OpenAPI 3.1 document of the mounted routes. */
export function openApiDocument(app: OpenAPIHono<ApiEnv>, mounts: readonly Mount[], settings: OpenApiSettings): Json {
  const { version, publicUrl, webhookBrand } = settings;
  const requests = mounts.flatMap(({ events = [] }) => events.map((event) => eventRequest(event, webhookBrand)));
  for (const request of requests) app.openAPIRegistry.registerWebhook(request);
  for (const [name, schema] of Object.entries(failureSchemas)) app.openAPIRegistry.register(name, schema);
  const generated = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Atelier', version, description },
    servers: [{ url: publicUrl }],
    tags: mounts.flatMap(({ tags }) => tags),
  });
  // Routes that are served at two paths share their descriptions. A copy as JSON shares nothing.
  const document: Json = JSON.parse(JSON.stringify(generated));
  const findSurface = surfaceFinder(mounts);
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    const { hasDialects, paths } = findSurface(path);
    const alias = paths.slice(1).find((one) => path.startsWith(`${one}/`));
    for (const operation of Object.values<Json>(operations)) {
      const ofAll = [reference('parameters', 'CorrelationId')];
      if (hasDialects) ofAll.unshift(reference('parameters', 'Variant'));
      operation.parameters = [...(operation.parameters ?? []), ...ofAll];
      if (alias) addSuffix(operation, suffixOf(alias));
    }
  }
  const securitySchemes = Object.assign({}, keySchemes, ...mounts.map((mount) => mount.securitySchemes ?? {}));
  Object.assign(document.components, { securitySchemes, parameters });
  addReferred(document, 'responses', failureComponents);
  addReferred(document, 'headers', headerComponents);
  return document;
}
