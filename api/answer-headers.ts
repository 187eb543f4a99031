import type { HttpBindings } from '@hono/node-server';
import type { ApiContext } from './context.ts';

/**
 * Headers of the answer, whatever it will be. They go where Node keeps them: in a Response they would be copied several
 * times. A handler's own header of the same name wins. A request that never was on a socket has nowhere to put them.
 */
export function setAnswerHeaders(c: ApiContext, headers: Readonly<Record<string, string>>): void {
  const outgoing = (c.env as HttpBindings | undefined)?.outgoing;
  if (outgoing) for (const name in headers) outgoing.setHeader(name, headers[name]!);
}

/** Takes back what an answer that turned out to be another one would have said. */
export function dropAnswerHeaders(c: ApiContext, names: readonly string[]): void {
  const outgoing = (c.env as HttpBindings | undefined)?.outgoing;
  for (const name of names) outgoing?.removeHeader(name);
}
