// biome-ignore lint/suspicious/noExplicitAny: a JSON document is read and copied here
export type Json = any;

/** Headers that the client sets by itself. */
const ownHeaders = new Set(['x-api-variant', 'x-correlation-id', 'idempotency-key', 'last-event-id']);

export const methodsOfHttp = ['get', 'post', 'put', 'patch', 'delete'] as const;

const isReference = (value: Json): value is { $ref: string } => typeof value?.$ref === 'string';
const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

/**
 * The document as the client sees it: the operations that name their method, in dialect A, with successful answers alone
 * and without the headers that the client sets by itself. The schema `RunA` is called `Run`.
 * `WebhookEvent` is the body of any webhook.
 */
export function clientDocument(document: Json): Json {
  const schemas: Record<string, Json> = { ...document.components.schemas };
  const ofB = (name: string) => name.endsWith('B') && `${name.slice(0, -1)}A` in schemas;
  const renamed = (name: string) =>
    /[a-z]A$/.test(name) && !(name.slice(0, -1) in schemas) ? name.slice(0, -1) : name;

  /** Copies a schema: dialect A alone, under the client's names. */
  function copy(value: Json): Json {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value.anyOf)) {
      const kept = value.anyOf.filter((one: Json) => !(isReference(one) && ofB(nameIn(one.$ref))));
      if (kept.length === 1 && kept.length < value.anyOf.length) return copy(kept[0]);
      if (kept.length < value.anyOf.length) return copy({ ...value, anyOf: kept });
    }
    const copied: Json = {};
    for (const [name, inner] of Object.entries<Json>(value)) {
      if (name === 'examples' || name === 'example') continue;
      // Members of an object may have any name.
      if (name === 'properties') {
        copied[name] = Object.fromEntries(
          Object.entries<Json>(inner).map(([member, schema]) => [member, copy(schema)]),
        );
        continue;
      }
      copied[name] =
        name === '$ref' && typeof inner === 'string'
          ? inner.slice(0, inner.lastIndexOf('/') + 1) + renamed(nameIn(inner))
          : copy(inner);
    }
    return copied;
  }

  function copyOperation(operation: Json): Json {
    const parameters = (operation.parameters ?? []).filter(
      (one: Json) => !isReference(one) && !ownHeaders.has(one.name.toLowerCase()),
    );
    const takesKey = (operation.parameters ?? []).some((one: Json) => one.name === 'Idempotency-Key');
    const answers = Object.entries<Json>(operation.responses).filter(([status]) => status.startsWith('2'));
    return {
      operationId: operation.operationId,
      'x-client-method': operation['x-client-method'],
      'x-takes-key': takesKey,
      tags: operation.tags,
      summary: operation.summary,
      description: operation.description,
      parameters: parameters.map(copy),
      ...(operation.requestBody && { requestBody: copy(operation.requestBody) }),
      responses: Object.fromEntries(
        answers.map(([status, { description, content }]) => [
          status,
          { description, ...(content && { content: copy(content) }) },
        ]),
      ),
    };
  }

  const paths: Json = {};
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const method of methodsOfHttp) {
      if (!item[method]?.['x-client-method']) continue;
      paths[path] ??= {};
      paths[path][method] = copyOperation(item[method]);
    }
  }

  const copied: Json = {};
  for (const [name, schema] of Object.entries(schemas)) {
    if (!ofB(name)) copied[renamed(name)] = copy(schema);
  }
  const events = Object.values<Json>(document.webhooks ?? {}).map(({ post }) =>
    copy(post.requestBody.content['application/json'].schema),
  );
  if (events.length > 0) copied.WebhookEvent = { description: 'The body of a webhook.', oneOf: events };

  return {
    openapi: document.openapi,
    info: { title: document.info.title, version: '1' },
    paths,
    components: { schemas: usedBy([paths, copied.WebhookEvent], copied) },
  };
}

/** The schemas that `roots` refer to, themselves or through others, in their order. */
function usedBy(roots: Json[], schemas: Record<string, Json>): Record<string, Json> {
  const used = new Set<string>(['WebhookEvent']);
  const visit = (value: Json): void => {
    if (typeof value !== 'object' || value === null) return;
    if (isReference(value)) {
      const name = nameIn(value.$ref);
      if (used.has(name)) return;
      used.add(name);
      visit(schemas[name]);
      return;
    }
    for (const inner of Object.values(value)) visit(inner);
  };
  for (const root of roots) visit(root);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
}
