type Dispatcher = NonNullable<RequestInit['dispatcher']>;

let opened: Promise<Dispatcher> | undefined;

async function open(): Promise<Dispatcher> {
  const { Agent, Dispatcher1Wrapper } = await import('undici');
  return new Dispatcher1Wrapper(new Agent({ headersTimeout: 0, bodyTimeout: 0 })) as unknown as Dispatcher;
}

/**
 * The dispatcher for Node's `fetch` to addresses that the operator configures. The one that Node has itself ends the process
 * when a server closes its connection while the body of its answer waits to be read, and it gives up after 300 s without
 * headers: models can think longer, and who calls them has a timeout for the whole call. undici is loaded by the first call,
 * because loading it takes 100 ms.
 */
export function fetchDispatcher(): Promise<Dispatcher> {
  opened ??= open();
  return opened;
}
