import { createMiddleware } from 'hono/factory';
import { isToken } from '../../src/tenancy/key-format.ts';
import { unauthorized } from '../../src/tenancy/refusals.ts';
import type { ApiEnv } from '../context.ts';
import { readKey } from './authenticate.ts';

/** Programs use a key. Tokens of browsers and cookies have no rights here. */
export const keysAlone = createMiddleware<ApiEnv>((c, next) => {
  const key = readKey((name) => c.req.header(name));
  if (key === undefined) throw unauthorized('missing_api_key');
  if (isToken(key)) throw unauthorized('invalid_api_key');
  return next();
});
