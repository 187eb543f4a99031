type Dispatcher = NonNullable<RequestInit['dispatcher']>;

let opened: Promise<Dispatcher> | undefined;

async function open(): Promise<Dispatcher> {
  const { Agent, Dispatcher1Wrapper } = await import('undici');
  return new Dispatcher1Wrapper(new Agent({ headersTimeout: 0, bodyTimeout: 0 })) as unknown as Dispatcher;
}

/**
 * The dispatcher for Node's `fetch` to addresses that the operator configures. Node's own dispatcher ends the process
 * when a server closes its connection while the body of its answer waits to be read, and it gives up after 300 s
 * without headers: models can think longer, and callers of them have a timeout for the whole call. The first call loads
 * undici, because loading it takes 100 ms.
 */
export function fetchDispatcher(): Promise<Dispatcher> {
  opened ??= open();
  return opened;
}
