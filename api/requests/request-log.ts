import type { Log } from '../../src/platform/observability/log.ts';
import type { ApiContext } from '../context.ts';

/** A log whose lines carry the ids of the request. It is made when it is needed: most requests log one line only. */
export const requestLog = (c: ApiContext): Log =>
  c.get('log').child({ requestId: c.get('requestId'), correlationId: c.get('correlationId') });
