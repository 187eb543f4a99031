import { getPath } from 'hono/utils/url';

/** The last segment of a trigger's path as routes see it, in place of the secret. */
export const secretSegment = 'trg_';

const secretInPath = /(?<=\/webhooks\/[^/]+\/)trg_[^/]*/;

/**
 * The path of a request without a trigger secret: `/v1/webhooks/{id}/trg_`. Everything that reads the path of a request
 * reads this one, so that no log, trace or stored path contains the secret.
 */
export function pathWithoutSecret(request: Request): string {
  const path = getPath(request);
  return path.includes('/trg_') ? path.replace(secretInPath, secretSegment) : path;
}

/** The trigger secret in the path of a request; undefined without one. */
export const secretFromPath = (request: Request): string | undefined => secretInPath.exec(getPath(request))?.[0];
