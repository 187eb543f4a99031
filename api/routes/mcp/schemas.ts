import { OpenAPIHono, type z } from '@hono/zod-openapi';

type Json = Record<string, unknown>;

const componentsOf = '#/components/schemas/';

/** References to components become references to definitions of the schema itself. */
function localRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(localRefs);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === '$ref' && typeof inner === 'string' ? inner.replace(componentsOf, '#/$defs/') : localRefs(inner),
    ]),
  );
}

/**
 * The JSON Schema of the input of a schema, with the descriptions of the reference, and without references to the
 * outside.
 */
export function inputSchemaOf(schema: z.ZodType): Json & { type: 'object' } {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerPath({
    method: 'post',
    path: '/',
    request: { body: { content: { 'application/json': { schema } } } },
    responses: {},
  });
  const document = app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version: '' } });
  const components = (document.components?.schemas ?? {}) as Record<string, Json>;
  const operation = document.paths?.['/']?.post as { requestBody: { content: Record<string, { schema: Json }> } };
  let root = operation.requestBody.content['application/json']!.schema;
  const named = typeof root.$ref === 'string' ? root.$ref.slice(componentsOf.length) : undefined;
  if (named !== undefined) root = components[named]!;
  const others = Object.fromEntries(Object.entries(components).filter(([name]) => name !== named));
  const definitions = Object.keys(others).length > 0 && { $defs: localRefs(others) };
  return { ...(localRefs(root) as Json), ...definitions, type: 'object' };
}
