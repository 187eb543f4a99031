import { randomUUID } from 'node:crypto';
import { getConnInfo } from '@hono/node-server/conninfo';
import { createMiddleware } from 'hono/factory';
import type { AddressRanges } from '../../src/platform/address-ranges.ts';
import type { Log } from '../../src/platform/log.ts';
import { setAnswerHeaders } from '../answer-headers.ts';
import { clientAddress } from '../client-address.ts';
import type { ApiContext, ApiEnv } from '../context.ts';
import type { FindSurface } from '../surface.ts';
import { onEveryAnswer } from './security-headers.ts';

const correlationPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** The address of the peer; undefined for a request that did not arrive on a socket. */
const peerOf = (c: ApiContext): string | undefined => (c.env ? getConnInfo(c).remote.address : undefined);

/**
 * Sets what every request has: its surface, its request id, its correlation id, which the caller may choose, a log with
 * both ids, the client's address, and the headers of every answer. This is one middleware because each middleware adds
 * a measurable cost to every request.
 */
export const beginRequest = (log: Log, trustedProxies: AddressRanges, findSurface: FindSurface) =>
  createMiddleware<ApiEnv>((c, next) => {
    c.set('surface', findSurface(c.req.path));
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
