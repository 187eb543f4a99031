import type { Dispatcher } from 'undici';

type DispatcherOfFetch = NonNullable<RequestInit['dispatcher']>;

/** What Node's `fetch` accepts. */
const maxEncodings = 5;

/**
 * Refuses an answer with more encodings than `fetch` accepts. `fetch` itself leaves the body of such an answer without a
 * listener, and an error of its connection ends the process.
 */
const withFewEncodings = (handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler => ({
  onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
  onResponseStart(controller, status, headers, statusText) {
    const encodings = [headers['content-encoding'] ?? []].flat().join().split(',');
    if (encodings.length > maxEncodings) controller.abort(new Error('The answer has too many content encodings.'));
    else handler.onResponseStart?.(controller, status, headers, statusText);
  },
  onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
  onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
  onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
});

let opened: Promise<DispatcherOfFetch> | undefined;

async function open(): Promise<DispatcherOfFetch> {
  const { Agent, Dispatcher1Wrapper } = await import('undici');
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 }).compose(
    (dispatch) => (options, handler) => dispatch(options, withFewEncodings(handler)),
  );
  return new Dispatcher1Wrapper(agent) as unknown as DispatcherOfFetch;
}

/**
 * The dispatcher for Node's `fetch` to addresses that the operator configures. Node's own dispatcher ends the process
 * when a server closes its connection while the body of its answer waits to be read, and it gives up after 300 s
 * without headers: models can think longer, and callers of them have a timeout for the whole call. The first call loads
 * undici, because loading it takes 100 ms.
 */
export function fetchDispatcher(): Promise<DispatcherOfFetch> {
  opened ??= open();
  return opened;
}
