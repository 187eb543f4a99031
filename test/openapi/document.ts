import type { Database } from '../../src/platform/database/database.ts';
import type { ApiClient } from '../api-client.ts';
import { Conformance } from './conformance.ts';

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
  /** Whether a key is needed, and the scopes that it needs: none where any key will do. */
  needsKey: boolean;
  scope: string | undefined;
  scopes: string[];
  /** Below `/api/v1` and `/v1`, where both dialects are spoken. */
  isVersioned: boolean;
}

export interface ReadDocument {
  document: Json;
  conformance: Conformance;
  /** What callers use. */
  operations: DocumentedOperation[];
  /** What browsers and providers call, without a key. */
  inbound: DocumentedOperation[];
  /** What a `$ref` points to, a reference that it is itself included. */
  resolve(reference: string): Json;
}

/** The first example of the body, an empty object without examples, undefined where the operation has no JSON body. */
export function exampleBody({ operation }: DocumentedOperation): unknown {
  const media: Json = operation.requestBody?.content['application/json'];
  return media && (Object.values<Json>(media.examples ?? {})[0]?.value ?? {});
}

/** Whether the operation reads an Idempotency-Key. */
export const takesIdempotencyKey = ({ parameters }: DocumentedOperation): boolean =>
  parameters.some(({ name }) => name === 'Idempotency-Key');

/** The document lists `/api/v1` alone; the API serves the same below `/v1`. */
export const atV1 = (path: string): string => path.replace(/^\/api\/v1\//, '/v1/');

/** Each operation below every prefix where it is served. */
export const atEveryPrefix = (operations: readonly DocumentedOperation[]): DocumentedOperation[] =>
  operations.flatMap((of) =>
    of.isVersioned ? [of, { ...of, path: atV1(of.path), endpoint: `${of.method} ${atV1(of.path)}` }] : [of],
  );

/** Reads a document for tests that look at each of its operations. */
export function readDocument(document: Json): ReadDocument {
  const conformance = new Conformance(document);
  const resolve = (reference: string): Json => conformance.resolve(...reference.slice('#/'.length).split('/'))[1];
  const follow = (value: Json): Json => (typeof value?.$ref === 'string' ? resolve(value.$ref) : value);

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
      scopes: byKey ?? [],
      isVersioned: path.startsWith('/api/v1/'),
    };
  }
  const all = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => read(path, method, operation)),
  );
  const isInbound = ({ operation }: DocumentedOperation) => operation.tags?.includes('Inbound');
  const [operations, inbound] = [all.filter((of) => !isInbound(of)), all.filter(isInbound)];
  return { document, conformance, operations, inbound, resolve };
}

/** Whether people alone may call it, with the session of a browser. */
export const isOfPeople = ({ operation }: Pick<DocumentedOperation, 'operation'>): boolean =>
  JSON.stringify(operation.security) === '[{"session":[]}]';

/** Whether its failures are only a message. */
export const hasErrorMessage = ({ path }: DocumentedOperation): boolean =>
  /^\/api\/(chat|agents|voice)(\/|$)/.test(path);

/**
 * Ids of a tenant's resources, for the parameters of paths; the first whose prefix fits `METHOD path` is taken. A path
 * whose resource is missing here fails the test.
 */
export type Things = { prefix: RegExp; parameter: string; id: string }[];

/** Creates one of each resource of a feature whose id can be in a path, for a tenant. */
export type ThingsOf = (tenant: { client: ApiClient; database: Database }) => Promise<Things>;

/** The operation's path with a tenant's own ids in it. */
export function pathOf({ endpoint, path }: DocumentedOperation, things: Things): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const thing = things.find((one) => one.prefix.test(endpoint) && one.parameter === parameter);
    if (!thing) throw new Error(`No resource for {${parameter}} of ${path}: add one to the things of this test.`);
    return thing.id;
  });
}
