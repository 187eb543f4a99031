import { createMiddleware } from 'hono/factory';
import { AddressLimiter } from '../../src/tenancy/address-limiter.ts';
import { setAnswerHeaders } from '../answer-headers.ts';
import type { ApiEnv } from '../context.ts';
import { chooseDialect } from '../dialects/choose-dialect.ts';
import { limitedRange } from '../requests/client-address.ts';
import type { Access } from './authenticate.ts';
import { findSession } from './session.ts';

const requestsPerMinute = 120;

/** Requires a session, of a person alone: for what belongs to no organization. */
export function requireSession({ accounts, failedAuthentications }: Access) {
  const limiter = new AddressLimiter(requestsPerMinute, 60);
  return createMiddleware<ApiEnv>(async (c, next) => {
    c.set('dialect', chooseDialect({ header: c.req.header('x-api-variant'), path: c.req.path }));
    setAnswerHeaders(c, { 'Cache-Control': 'no-store' });
    const person = await findSession(c, accounts).catch((error: unknown) => {
      failedAuthentications.take(limitedRange(c.get('clientAddress')()));
      throw error;
    });
    limiter.take(person.id);
    c.set('person', person);
    await next();
  });
}
