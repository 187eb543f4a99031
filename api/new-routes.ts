import { OpenAPIHono, z } from '@hono/zod-openapi';
import { type AppError, invalid } from '../src/platform/errors.ts';
import type { ApiEnv } from './context.ts';
import { issueMessage } from './issue-messages.ts';

z.config({ customError: issueMessage });

/** A body of 1 MiB can have a hundred thousand errors; the answer lists the first of them. */
const mostErrorsListed = 100;

/** The failure of a request that does not match its schema. */
export function invalidRequest({ issues }: z.ZodError): AppError {
  return invalid(
    issues.slice(0, mostErrorsListed).map(({ path, message }) => ({ path: path.map(String).join('.'), message })),
  );
}

/**
 * An empty set of routes, which refuses requests that do not match their schema. It has no error handler: errors are
 * rendered once, by the app, because a second handler would wrap every route at a cost.
 */
export const newRoutes = (): OpenAPIHono<ApiEnv> =>
  new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error);
    },
  });
