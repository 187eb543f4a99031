import type { ServerResponse } from 'node:http';

/** Closes what is open for a client when the client has gone. A client that has gone before emits no further `close`. */
export function closeWhenLeft(outgoing: Pick<ServerResponse, 'destroyed' | 'once'>, open: { close(): void }): void {
  if (outgoing.destroyed) open.close();
  else outgoing.once('close', () => open.close());
}
