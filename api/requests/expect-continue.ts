import type { ServerResponse } from 'node:http';

/** Responses whose client waits for 100 Continue before it sends the body. */
const waiting = new WeakSet<ServerResponse>();

/**
 * Leaves 100 Continue to the reader of the body: a request that is refused before that does not send it. The connection is
 * closed after such an answer, because the client may still send the body (RFC 9110, 10.1.1).
 */
export function awaitContinue(response: ServerResponse): void {
  waiting.add(response);
  response.setHeader('Connection', 'close');
}

/** Whether the client of this response waits for 100 Continue. */
export const isAwaitingContinue = (response: ServerResponse): boolean => waiting.has(response);

/** To be called before the body is read. Does nothing when the client does not wait. */
export function continueBody(response: ServerResponse): void {
  if (!waiting.delete(response)) return;
  response.removeHeader('Connection');
  response.writeContinue();
}
