import type { Log } from '../../src/platform/observability/log.ts';
import type { ApiContext } from '../context.ts';

/**
 * A log whose lines carry the ids of the request. It is created on first use, because most requests log only one line.
 */
export const requestLog = (c: ApiContext): Log =>
  c.get('log').child({ requestId: c.get('requestId'), correlationId: c.get('correlationId') });
