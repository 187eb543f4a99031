import { createSseClient } from '../generated/api/core/serverSentEvents.gen.ts';
import { AtelierError, ConnectionError, TimeoutError } from './errors.ts';
import { after, maxRequestedPauseMs, pause, pauseBeforeRetry } from './retries.ts';

/** An event of a stream. */
export interface ServerEvent<Name extends string = string, Content = unknown> {
  /** Its id, with which a stream continues after it, or null. */
  id: string | null;
  event: Name;
  data: Content;
}

/** How one connection of a stream is opened. */
export interface Connection {
  /** The id of the last event that was received, if any had one. */
  lastEventId: string | undefined;
  /** Aborted when the reader has stopped, or the connection was silent for too long. */
  signal: AbortSignal;
}

export interface StreamSettings {
  /** Opens a connection. @throws AtelierError; what `fetch` throws */
  open(connection: Connection): Promise<Response>;
  /** Whether nothing follows this event. */
  isLast(event: ServerEvent): boolean;
  /** How often a connection is opened anew although nothing was received since. */
  maxRetries: number;
  /** How long a connection may be silent, in milliseconds. The service sends a comment every 10 seconds. */
  silenceMs: number;
  signal?: AbortSignal | undefined;
  lastEventId?: string | undefined;
  /** Whether a connection that is opened anew repeats a request with a key, whose first one may be in progress. */
  isAgain?: boolean;
}

/** The text of a model is not sent again: such events have no ids. */
const eventWithoutId = 'step.delta';
/** A pause that the service did not request, in milliseconds. */
const usualPauseMs = 1_000;
/** A connection that was heard for longer was a good one, whatever ended it: proxies close them after some minutes. */
const goodConnectionMs = 15_000;

/** What is learned from a connection besides its events. */
interface Observed {
  /** Something was received: an event or a comment. */
  onReceived(): void;
  /** The service requests a pause before the next connection. */
  onRetry(ms: number): void;
}

/** The events of one connection. */
async function* eventsOf(
  open: (signal: AbortSignal) => Promise<Response>,
  { silenceMs, signal }: Pick<StreamSettings, 'silenceMs' | 'signal'>,
  { onReceived, onRetry }: Observed,
): AsyncGenerator<ServerEvent> {
  const stop = new AbortController();
  const silent = new TimeoutError(`The stream was silent for ${silenceMs} ms.`);
  let rest = () => {};
  const listen = () => {
    rest();
    rest = after(silenceMs, () => stop.abort(silent));
  };
  const leave = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', leave, { once: true });
  if (signal?.aborted) leave();
  let current: ServerEvent | undefined;
  let failure: unknown;
  try {
    listen();
    const { stream } = createSseClient<unknown>({
      // The response is ours: the reader only parses it.
      url: 'http://stream.invalid/',
      fetch: () => open(stop.signal),
      signal: stop.signal,
      sseMaxRetryAttempts: 1,
      sseDefaultRetryDelay: usualPauseMs,
      onSseError: (error) => {
        failure = error;
      },
      onSseEvent: ({ data, event, id, retry }) => {
        listen();
        onReceived();
        if (retry !== undefined) onRetry(retry);
        // The reader repeats the last id for an event that has none.
        current = { id: (event === eventWithoutId ? undefined : id) ?? null, event: event ?? 'message', data };
      },
    });
    for await (const data of stream) {
      // Events that arrived together would follow.
      stop.signal.throwIfAborted();
      if (!current) continue;
      if (typeof data === 'string') throw new ConnectionError('The stream contained something that is no JSON.');
      // The reader may take its time.
      rest();
      yield current;
      listen();
    }
    if (stop.signal.aborted) throw stop.signal.reason;
    if (failure !== undefined) throw failure;
  } finally {
    rest();
    signal?.removeEventListener('abort', leave);
    stop.abort();
  }
}

/** Whether an id was received before: ids of a stream are numbers that grow, or texts that differ. */
function isOld(id: string | null, last: string | undefined): boolean {
  if (id === null || last === undefined) return false;
  const [one, other] = [Number(id), Number(last)];
  return Number.isInteger(one) && Number.isInteger(other) ? one <= other : id === last;
}

/**
 * The events of the service as they happen. A lost connection is opened anew after the last event, and no event comes
 * twice. The iteration ends with the stream. Leaving it closes the connection.
 */
export class EventStream<Event extends ServerEvent = ServerEvent> implements AsyncIterable<Event> {
  readonly #settings: StreamSettings;

  constructor(settings: StreamSettings) {
    this.#settings = settings;
  }

  /** @throws AtelierError when the service refuses the stream or cannot be reached; the reason of the signal */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { open, isLast, maxRetries, signal, isAgain = false } = this.#settings;
    let { lastEventId } = this.#settings;
    let pauseMs = usualPauseMs;
    for (let failures = 0; ; ) {
      let hasEnded = false;
      const openedAt = Date.now();
      let receivedAt = openedAt;
      const connect = async (ofConnection: AbortSignal) => {
        const response = await open({ lastEventId, signal: ofConnection });
        hasEnded = response.status === 204;
        return response;
      };
      let failure: unknown;
      try {
        for await (const event of eventsOf(connect, this.#settings, {
          onReceived: () => {
            receivedAt = Date.now();
          },
          onRetry: (ms) => {
            pauseMs = Math.min(ms, maxRequestedPauseMs);
          },
        })) {
          if (isOld(event.id, lastEventId)) continue;
          failures = 0;
          lastEventId = event.id ?? lastEventId;
          yield event as Event;
          if (isLast(event)) return;
        }
      } catch (error) {
        failure = error;
      }
      signal?.throwIfAborted();
      if (hasEnded) return;
      if ((failure instanceof TimeoutError ? receivedAt : Date.now()) - openedAt > goodConnectionMs) failures = 0;
      failures += 1;
      const error = asError(failure);
      const waitMs = failure === undefined ? pauseMs : pauseBeforeRetry(error, { made: failures, madeKey: isAgain });
      if (waitMs === undefined || failures > maxRetries) throw error;
      await pause(waitMs, signal);
    }
  }
}

const asError = (failure: unknown): AtelierError =>
  failure instanceof AtelierError
    ? failure
    : new ConnectionError('The stream ended before its last event.', failure === undefined ? {} : { cause: failure });
