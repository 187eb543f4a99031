import { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Next } from 'hono';
import { shortened } from '../src/platform/core/shortened.ts';
import { type AppError, type FieldError, invalid, listed } from '../src/platform/errors.ts';
import type { ApiContext, ApiEnv } from './context.ts';
import { issueMessage } from './errors/issue-messages.ts';

z.config({ customError: issueMessage });

/** Maximum length in a failure of a member's name, and of a message; longer ones are cut. */
const [maxName, maxMessage] = [100, 1_000];

/** The problem of a value that may have one of several forms: in the intended form, if only one is likely. */
function inMeantForm(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const likely = issue.errors.filter((faults) => faults.every(({ path }) => path.length > 0));
  if (likely.length !== 1) return [issue];
  return likely[0]!.flatMap((fault) => inMeantForm({ ...fault, path: [...issue.path, ...fault.path] }));
}

/** The problem of a request that does not match its schema. */
export const problemsOfSchema = ({ issues }: z.ZodError): FieldError[] =>
  listed(issues.flatMap(inMeantForm)).map(({ path, message }) => ({
    path: path.map((name) => shortened(String(name), maxName)).join('.'),
    message: shortened(message, maxMessage),
  }));

/** The failure of a request that does not match its schema. */
export const invalidRequest = (error: z.ZodError): AppError => invalid(problemsOfSchema(error));

/** Whether every member is a text without further rules, as each parameter of a path is one by itself. */
const areTexts = (schema: unknown): boolean =>
  schema instanceof z.ZodObject &&
  Object.values(schema.shape).every((member) => member instanceof z.ZodString && !member.def.checks?.length);

/**
 * An empty set of routes, which refuses requests that do not match their schema. It has no error handler: errors are
 * rendered once, by the app, because a second handler would wrap every route at a cost. For the same reason the parameters
 * of a path are handed to the handler without a validator, where no text could be refused.
 */
export function newRoutes(): OpenAPIHono<ApiEnv> {
  const routes = new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error);
    },
  });
  const { openapi, openAPIRegistry } = routes;
  // biome-ignore lint/suspicious/noExplicitAny: the types of a route and its handler are those of the method in its place
  routes.openapi = ((route: any, handler: any, ...hook: any[]) => {
    if (!areTexts(route.request?.params)) return openapi(route, handler, ...hook);
    const { middleware: _, hide, ...documented } = route;
    if (!hide) openAPIRegistry.registerPath(documented);
    const { params: __, ...request } = route.request;
    const withParams = (c: ApiContext, next: Next) => {
      c.req.addValidatedData('param', c.req.param());
      return handler(c, next);
    };
    return openapi({ ...route, hide: true, request }, withParams as never, ...hook);
  }) as typeof openapi;
  return routes;
}
