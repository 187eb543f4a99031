import { randomUUID } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import { createMiddleware } from 'hono/factory';
import type { AddressRanges } from '../../src/platform/address-ranges.ts';
import type { Log } from '../../src/platform/log.ts';
import { setAnswerHeaders } from '../answer-headers.ts';
import { clientAddress } from '../client-address.ts';
import type { ApiContext, ApiEnv } from '../surface.ts';
import { onEveryAnswer } from './security-headers.ts';

const correlationPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** Where the request came in; a request that never was on a socket came from nowhere. */
const peerOf = (c: ApiContext): string | undefined => (c.env ? getConnInfo(c).remote.address : undefined);

/**
 * What every request has before anything is asked of it: a name of its own, the name of the operation that it belongs to,
 * which a caller may choose, a log that tells both, the address it is from, and the headers of every answer. One step and
 * not four: each costs a request as much as what it does.
 */
export const beginRequest = (log: Log, trustedProxies: AddressRanges) =>
  createMiddleware<ApiEnv>((c, next) => {
    const requestId = randomUUID();
    const given = c.req.header('x-correlation-id');
    const correlationId = given && correlationPattern.test(given) ? given : randomUUID();
    c.set('requestId', requestId);
    c.set('correlationId', correlationId);
    c.set('log', log.child({ requestId, correlationId }));
    const header = (name: string) => c.req.header(name);
    c.set('clientAddress', clientAddress(peerOf(c), header, trustedProxies));
    setAnswerHeaders(c, onEveryAnswer);
    setAnswerHeaders(c, { 'X-Request-ID': requestId, 'x-correlation-id': correlationId });
    return next();
  });
