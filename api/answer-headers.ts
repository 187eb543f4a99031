import type { HttpBindings } from '@hono/node-server';
import { connectionOf } from './connection/connection.ts';
import type { ApiContext } from './context.ts';

/**
 * Sets headers of the answer for any answer of the handler. They are set on Node's response, because in a `Response`
 * they would be copied several times. A handler's own header of the same name overrides them. A request that did not
 * arrive on a socket has no Node response, and a stream that has begun has sent its headers.
 */
export function setAnswerHeaders(c: ApiContext, headers: Readonly<Record<string, string>>): void {
  const outgoing = (c.env as HttpBindings | undefined)?.outgoing;
  if (outgoing && !outgoing.headersSent) for (const name in headers) outgoing.setHeader(name, headers[name]!);
}

/** Information about the limits of its organization for a caller, which a refused caller must not get. */
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Cache-Control'];

/** Removes headers that were set for another answer. */
export function dropAnswerHeaders(c: ApiContext, names: readonly string[]): void {
  const outgoing = (c.env as HttpBindings | undefined)?.outgoing;
  for (const name of names) outgoing?.removeHeader(name);
}

/** Closes the connection after this answer, of a request whose body was not read. */
export function closeAfterAnswer(c: ApiContext): void {
  setAnswerHeaders(c, { Connection: 'close' });
  const incoming = (c.env as HttpBindings | undefined)?.incoming;
  if (incoming) connectionOf(incoming)?.lingerAtEnd();
}

/** Counts the waiting bytes of the answer as the organization's, until the client takes them. */
export function attributeAnswer(c: ApiContext, organizationId: string): void {
  const incoming = (c.env as HttpBindings | undefined)?.incoming;
  if (incoming) connectionOf(incoming)?.belongsTo(organizationId);
}
