import { createRoute, type RouteConfig, type z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { ApiContext, ApiEnv } from './context.ts';
import { idempotencyHeader } from './idempotency.ts';
import { requirementsOf } from './middleware/authenticate.ts';
import { type JsonBodyOptions, jsonBody } from './middleware/json-body.ts';
import { failures, keySecurity, plainFailures } from './schemas/answers.ts';
import type { ErrorStatus } from './schemas/failures.ts';

type Middleware = MiddlewareHandler<ApiEnv>;
type Parameters = z.ZodObject;
type Content = { 'application/json': { schema: z.ZodType } };

/** The common properties of a file's operations. */
interface Shared {
  tag: string;
  /** The middleware that `requireKey` creates. Its scopes are the operation's security. Public operations have none. */
  key?: Middleware;
  /** Whether the operations are part of the versioned API, whose failures come in two dialects. */
  hasDialects?: boolean;
  /** The failures of operations whose failures are neither of these: those of the given statuses, and of every operation. */
  failuresOf?: (...statuses: ErrorStatus[]) => RouteConfig['responses'];
  /** How callers prove who they are, where it is not by a key. */
  security?: Record<string, string[]>[];
}

/** The contract of one operation, without what follows from it. */
interface Contract {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  /** The id that links and generated clients use. */
  operationId: string;
  /** The method of the generated client, below its root: `workflows.create`. docs/development.md has the rule. */
  'x-client-method': string;
  summary: string;
  description: string;
  /** Replaces the key that the operations of this file share. */
  key?: Middleware;
  params?: Parameters;
  query?: Parameters;
  headers?: Parameters;
  /** A JSON body: `jsonContent(...)`. Requests may then be answered with 413 and 415. */
  body?: Content;
  /** Whether a request may come without a body. Without `body`: whether a sent body is read and ignored. */
  bodyIsOptional?: boolean;
  /** The largest body in bytes; 1 MiB unless given. */
  maxBytes?: number;
  /** Makes JSON of a body in YAML, which is accepted then. */
  readYaml?: (c: ApiContext, text: string) => Promise<string>;
  /** The dialect of a body, where its members decide it. */
  variantOf?: JsonBodyOptions['variantOf'];
  /** Whether the operation takes an Idempotency-Key. Requests may then be answered with 422. */
  idempotent?: boolean;
  /** Checks that run before the handler. */
  checks?: readonly Middleware[];
  /** The successful answers, and failures that have a schema of their own. */
  answers: RouteConfig['responses'];
  /** Statuses of further failures. A path with parameters has 404 without it. */
  failures?: readonly ErrorStatus[];
}

/** The input of an operation's handler: the parts of the request that its contract names. */
type RequestOf<Given> = (Given extends { params: infer Params extends Parameters } ? { params: Params } : object) &
  (Given extends { query: infer Query extends Parameters } ? { query: Query } : object) &
  (Given extends { headers: infer Headers extends Parameters } ? { headers: Headers } : object) &
  (Given extends { body: infer Body extends Content } ? { body: { required: true; content: Body } } : object);

/** The route of an operation, for `routes.openapi`. */
type Operation<Given extends Contract> = {
  method: Given['method'];
  path: Given['path'];
  middleware: Middleware;
  request: RequestOf<Given>;
  responses: Given['answers'];
  getRoutingPath(): string;
};

function headersOf({ headers, idempotent }: Contract): Parameters | undefined {
  if (!idempotent) return headers;
  return headers ? idempotencyHeader.extend(headers.shape) : idempotencyHeader;
}

/** The statuses that follow from the parts of a request, and those that the contract adds. */
function statusesOf({ params, body, bodyIsOptional, idempotent, failures: more = [] }: Contract): ErrorStatus[] {
  const statuses: ErrorStatus[] = [...more];
  if (params) statuses.push(404);
  if (body || bodyIsOptional) statuses.push(413, 415);
  if (idempotent) statuses.push(422);
  return statuses;
}

/**
 * A builder for the operations of a file. An operation names its contract alone: security, middleware, headers and
 * the failures that every operation of its kind has are derived from it.
 */
export function operationsOf({
  tag,
  key: usualKey,
  hasDialects = true,
  failuresOf = hasDialects ? failures : plainFailures,
  security,
}: Shared) {
  return <const Given extends Contract>(given: Given): Operation<Given> => {
    const {
      method,
      path,
      operationId,
      'x-client-method': clientMethod,
      summary,
      description,
      params,
      query,
      body,
      bodyIsOptional = false,
      checks = [],
      answers,
    } = given;
    const key = given.key ?? usualKey;
    const { scopes } = (key && requirementsOf(key)) ?? { scopes: [] };
    const headers = headersOf(given);
    const options: JsonBodyOptions = { optional: bodyIsOptional, readYaml: given.readYaml };
    if (given.maxBytes !== undefined) options.maxBytes = given.maxBytes;
    if (given.variantOf) options.variantOf = given.variantOf;
    const read = body || bodyIsOptional ? [jsonBody(options)] : [];
    return createRoute({
      method,
      path,
      tags: [tag],
      security: security ?? keySecurity(...scopes),
      operationId,
      'x-client-method': clientMethod,
      summary,
      description,
      middleware: [...(key ? [key] : []), ...read, ...checks],
      request: {
        ...(params && { params }),
        ...(query && { query }),
        ...(headers && { headers }),
        ...(body && { body: { ...(!bodyIsOptional && { required: true }), content: body } }),
      },
      responses: { ...failuresOf(...statusesOf(given)), ...answers },
    }) as unknown as Operation<Given>;
  };
}
