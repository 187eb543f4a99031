import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Catalog } from '../../src/platform/parts/catalog.ts';
import type { ApiEnv } from '../context.ts';
import type { Mount, SecurityScheme } from '../mount.ts';
import { failureSchemas } from '../schemas/failure-schemas.ts';
import { failureComponents } from '../schemas/failures.ts';
import { headerComponents } from '../schemas/headers.ts';
import { inboundTag } from '../schemas/inbound.ts';
import { eventRequest, eventSchemas } from '../schemas/webhooks/event.ts';
import { canonicalPath, surfaceFinder } from '../surface.ts';
import { referenceText } from './reference-text.ts';

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
    description:
      'Your id for the operation that this request is part of: 1 to 128 letters, digits and `.`, `_`, `:`, `-`. Any other id is replaced by a new one, and the request is served.',
    schema: { type: 'string' },
  },
} as const;

const reference = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

// biome-ignore lint/suspicious/noExplicitAny: a JSON document is walked and changed here
type Json = any;

interface OpenApiSettings {
  version: string;
  publicUrl: string;
  /** The word in the names of the headers of webhooks. */
  webhookBrand: string;
  /** The declarations of the product's parts. */
  catalog: Pick<Catalog, 'errors' | 'events' | 'limits' | 'scopes'>;
}

/** The ids of the operations that need a scope, by scope. */
function operationsByScope(document: Json, scopes: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>(scopes.map((scope) => [scope, []]));
  for (const operation of Object.values<Json>(document.paths).flatMap((path) => Object.values<Json>(path))) {
    for (const scope of operation.security?.[0]?.bearer ?? []) found.get(scope)?.push(operation.operationId);
  }
  return new Map([...found].filter(([, operations]) => operations.length > 0));
}

/** Adds the components that the document refers to, and no others. */
function addReferred(document: Json, kind: string, all: Record<string, unknown>): void {
  const text = JSON.stringify(document);
  const used = Object.entries(all).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`));
  document.components[kind] = Object.fromEntries(used);
}

/**
 * The same schema in the form that generators of clients read: a description is beside the reference that it describes,
 * not in an `allOf`; the type of member names is omitted, because it is always string; and the values of a map that may
 * be null are not narrowed further, for which Go has no type.
 */
function plainSchema(value: Json): Json {
  if (Array.isArray(value)) return value.map(plainSchema);
  if (typeof value !== 'object' || value === null) return value;
  const { propertyNames, ...rest } = value;
  const namesAreStrings = JSON.stringify(propertyNames) === '{"type":"string"}';
  const kept = namesAreStrings && 'additionalProperties' in rest ? rest : value;
  const [first, second, ...more] = Array.isArray(kept.allOf) ? kept.allOf : [];
  const describes = second !== undefined && Object.keys(second).join() === 'description';
  if (first?.$ref && describes && more.length === 0) {
    const { allOf: _, ...beside } = kept;
    return { ...beside, ...first, ...second };
  }
  const values: Json[] = kept.additionalProperties?.anyOf ?? [];
  const read = values.some(({ type }) => type === 'null') ? { ...kept, additionalProperties: {} } : kept;
  return Object.fromEntries(Object.entries(read).map(([name, inner]) => [name, plainSchema(inner)]));
}

/** The OpenAPI 3.1 document of the mounted routes. */
export function openApiDocument(app: OpenAPIHono<ApiEnv>, mounts: readonly Mount[], settings: OpenApiSettings): Json {
  const { version, publicUrl, webhookBrand, catalog } = settings;
  const events = [...catalog.events.values()];
  for (const event of events) app.openAPIRegistry.registerWebhook(eventRequest(event, webhookBrand));
  for (const [name, schema] of Object.entries(eventSchemas(events)))
    app.openAPIRegistry.registerComponent('schemas', name, schema);
  for (const [name, schema] of Object.entries(failureSchemas(catalog.errors)))
    app.openAPIRegistry.register(name, schema);
  const generated = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Atelier', version },
    servers: [{ url: publicUrl, description: 'Paths below `/api/v1` are served below `/v1` too.' }],
    tags: mounts.flatMap(({ tags }) => tags),
  });
  // Routes that are served at two paths share their descriptions. A copy as JSON shares nothing.
  const document: Json = plainSchema(JSON.parse(JSON.stringify(generated)));
  const findSurface = surfaceFinder(mounts);
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    const surface = findSurface(path);
    if (canonicalPath(surface, path) !== path) {
      // The same operation at another of its paths.
      delete document.paths[path];
      continue;
    }
    for (const operation of Object.values<Json>(operations)) {
      // Browsers and providers choose no dialect.
      if (operation.tags?.includes(inboundTag.name)) continue;
      const ofAll = [reference('parameters', 'CorrelationId')];
      if (surface.hasDialects) ofAll.unshift(reference('parameters', 'Variant'));
      operation.parameters = [...(operation.parameters ?? []), ...ofAll];
    }
  }
  document.info.description = referenceText({
    publicUrl,
    operationsByScope: operationsByScope(document, catalog.scopes),
    examples: mounts.flatMap(({ example }) => example ?? []),
    limits: catalog.limits,
  });
  const securitySchemes = Object.assign({}, keySchemes, ...mounts.map((mount) => mount.securitySchemes ?? {}));
  Object.assign(document.components, { securitySchemes, parameters });
  addReferred(document, 'responses', failureComponents());
  addReferred(document, 'headers', headerComponents);
  return document;
}
