import { Conformance } from './openapi-conformance.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is JSON; tests say what they expect of it
export type Json = any;

/** One operation of a document, with what it refers to in place of the references. */
export interface DocumentedOperation {
  /** `METHOD path` with parameters in braces. */
  endpoint: string;
  method: string;
  path: string;
  operation: Json;
  parameters: Json[];
  /** By status. */
  responses: Record<string, { place: string[]; response: Json; headers: Record<string, Json> }>;
  /** Whether a key is needed, and the scope that it needs: undefined where any key will do. */
  needsKey: boolean;
  scope: string | undefined;
}

export interface ReadDocument {
  document: Json;
  conformance: Conformance;
  operations: DocumentedOperation[];
}

/** Reads a document for tests that look at each of its operations. */
export function readDocument(document: Json): ReadDocument {
  const conformance = new Conformance(document);
  const follow = (value: Json): Json =>
    typeof value?.$ref === 'string' ? conformance.resolve(...value.$ref.slice(2).split('/'))[1] : value;

  function read(path: string, method: string, operation: Json): DocumentedOperation {
    const responses = Object.keys(operation.responses).map((status) => {
      const [place, response] = conformance.resolve('paths', path, method, 'responses', status);
      const headers = Object.entries<Json>(response.headers ?? {}).map(([name, header]) => [name, follow(header)]);
      return [status, { place, response, headers: Object.fromEntries(headers) }];
    });
    const byKey = operation.security?.find((one: object) => 'bearer' in one)?.bearer;
    return {
      endpoint: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
      parameters: (operation.parameters ?? []).map(follow),
      responses: Object.fromEntries(responses),
      needsKey: byKey !== undefined,
      scope: byKey?.[0],
    };
  }
  const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => read(path, method, operation)),
  );
  return { document, conformance, operations };
}
