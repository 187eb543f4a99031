import { createMiddleware } from 'hono/factory';
import type { ApiEnv } from '../context.ts';
import { chooseDialect } from '../dialects/choose-dialect.ts';
import { limitedRange } from '../requests/client-address.ts';
import { type Access, limitPerson } from './authenticate.ts';
import { checkOrigin, findSession } from './session.ts';

/** Requires a session, of a person alone: for what belongs to no organization. */
export const requireSession = (access: Access) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    c.set('dialect', chooseDialect({ header: c.req.header('x-api-variant'), path: c.req.path }));
    const person = await findSession(c, access.accounts).catch((error: unknown) => {
      access.failedAuthentications.take(limitedRange(c.get('clientAddress')()));
      throw error;
    });
    await limitPerson(c, access, person.userId);
    checkOrigin(c, access.accounts);
    c.set('person', person);
    await next();
  });
