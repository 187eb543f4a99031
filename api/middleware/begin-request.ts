import { getConnInfo } from '@hono/node-server/conninfo';
import { createMiddleware } from 'hono/factory';
import type { AddressRanges } from '../../src/platform/egress/address-ranges.ts';
import type { Services } from '../../src/services.ts';
import { setAnswerHeaders } from '../answer-headers.ts';
import type { ApiContext, ApiEnv } from '../context.ts';
import { clientAddress } from '../requests/client-address.ts';
import { requestIds } from '../requests/request-ids.ts';
import type { FindSurface } from '../surface.ts';
import { observed } from './observe.ts';
import { onEveryAnswer } from './security-headers.ts';
import { traced } from './trace.ts';

/** The address of the peer; undefined for a request that did not arrive on a socket. */
const peerOf = (c: ApiContext): string | undefined => (c.env ? getConnInfo(c).remote.address : undefined);

/**
 * Sets what every request has: its surface, its request id, its correlation id, which the caller may choose, the client's
 * address, and the headers of every answer. Then the request is traced, counted and logged. This is one middleware because
 * each middleware adds a measurable cost to every request.
 */
export const beginRequest = (
  services: Pick<Services, 'log' | 'metrics' | 'tracing'>,
  trustedProxies: AddressRanges,
  findSurface: FindSurface,
) =>
  createMiddleware<ApiEnv>((c, next) => {
    c.set('surface', findSurface(c.req.path));
    const { requestId, correlationId } = requestIds(c.req.header('x-correlation-id'));
    c.set('requestId', requestId);
    c.set('correlationId', correlationId);
    c.set('log', services.log);
    c.set('clientAddress', () => clientAddress(peerOf(c), (name) => c.req.header(name), trustedProxies));
    setAnswerHeaders(c, onEveryAnswer);
    setAnswerHeaders(c, { 'X-Request-ID': requestId, 'x-correlation-id': correlationId });
    const { tracing } = services;
    return tracing ? traced(tracing, c, () => observed(services, c, next)) : observed(services, c, next);
  });
