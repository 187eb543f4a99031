import type { OpenAPIHono } from '@hono/zod-openapi';
import { hasDialects } from './dialects/choose-dialect.ts';
import { failureComponents, failureSchemas } from './schemas/failures.ts';
import { headerComponents } from './schemas/headers.ts';
import { eventRequests } from './schemas/webhooks/event.ts';
import type { ApiEnv } from './surface.ts';

const description = [
  'Workflows of AI steps, run durably.',
  '',
  '**Dialects.** Every path below `/api/v1` exists below `/v1` too. Requests are read in either of two dialects, A and',
  'B; an answer is in one of them: the header `X-API-Variant`, else a `wf_` or `run_` id in the path, else the body of',
  "execute, else the key's own setting decides.",
  '',
  '**Retries.** An `Idempotency-Key` makes it safe to send a POST again. 429 and 503 say in `Retry-After` when.',
  '',
  '**Everywhere.** Bodies are JSON in UTF-8, at most 1 MiB and 64 levels deep, without `Content-Encoding`. An unknown',
  'path is 404 `not_found`; a method that a path does not have is 405 `method_not_allowed` with `Allow`; HEAD answers as',
  'GET does. What is not HTTP is answered 400, 408 or 431 and the connection closed. An id of a wrong form, like one of',
  'another tenant, is answered as one that does not exist. Additive changes come without notice; an operation that will',
  'go says so in `X-API-Deprecated` for at least twelve months.',
].join('\n');

const tags = [
  { name: 'Workflows', description: 'What is to be done: steps, in order, with their inputs.' },
  { name: 'Runs', description: 'Doing it, and what came of it.' },
  { name: 'Webhooks', description: 'Being told of what happens: who hears of what, and whether it got there.' },
  { name: 'Account', description: 'Whose a key is, and what its organization has left and has used.' },
  { name: 'Operations', description: 'For load balancers, browsers and the operator of the installation.' },
];

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk_live_… or sk_test_…',
    description: 'An API key; the scope that an operation needs is named beside it. Never in a query string.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The same key in a header of its own. Both headers with different keys are refused.',
  },
  webhookSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Webhook-Secret',
    description: "A workflow's own secret; good for starting it and for nothing else.",
  },
  cronSecret: {
    type: 'http',
    scheme: 'bearer',
    description: 'CRON_SECRET of the installation; for its operator alone.',
  },
} as const;

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
    description: 'A name for the operation that this request belongs to. One of another form is replaced.',
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

/** The second mount of an operation needs names of its own: they are unique in a document. */
function renameAtV1(operation: Json): void {
  const renamed = (operationId: string) => `${operationId}AtV1`;
  operation.operationId = renamed(operation.operationId);
  for (const { links = {} } of Object.values<Json>(operation.responses)) {
    for (const link of Object.values<Json>(links)) link.operationId = renamed(link.operationId);
  }
}

/** Only what is referred to: a component may refer to others. */
function addReferred(document: Json, kind: string, all: Record<string, unknown>): void {
  const text = JSON.stringify(document);
  const used = Object.entries(all).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`));
  document.components[kind] = Object.fromEntries(used);
}

/** The OpenAPI 3.1 document of the routes as they are mounted. */
export function openApiDocument(app: OpenAPIHono<ApiEnv>, { version, publicUrl, webhookBrand }: OpenApiSettings): Json {
  for (const request of eventRequests(webhookBrand)) app.openAPIRegistry.registerWebhook(request);
  for (const [name, schema] of Object.entries(failureSchemas)) app.openAPIRegistry.register(name, schema);
  const generated = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Atelier', version, description },
    servers: [{ url: publicUrl }],
    tags,
  });
  // The two mounts of a route share what describes it; as JSON they do not.
  const document: Json = JSON.parse(JSON.stringify(generated));
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    for (const operation of Object.values<Json>(operations)) {
      const ofAll = [reference('parameters', 'CorrelationId')];
      if (hasDialects(path)) ofAll.unshift(reference('parameters', 'Variant'));
      operation.parameters = [...(operation.parameters ?? []), ...ofAll];
      if (path.startsWith('/v1/')) renameAtV1(operation);
    }
  }
  Object.assign(document.components, { securitySchemes, parameters });
  addReferred(document, 'responses', failureComponents);
  addReferred(document, 'headers', headerComponents);
  return document;
}
