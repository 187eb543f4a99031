import { AtelierError, TimeoutError } from './errors.ts';
import { after, pause } from './retries.ts';

export interface WaitOptions {
  /** How long to wait, in milliseconds. Without it there is no limit. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const firstPauseMs = 500;
const maxPauseMs = 5_000;

/**
 * Runs `work` with a signal that is aborted when the caller's is, or when the time is over.
 * @throws TimeoutError when it is over; the reason of the caller's signal; what `work` throws
 */
export async function withinTime<Result>(
  { timeoutMs, signal }: WaitOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const leave = () => stop.abort(signal?.reason);
  if (signal?.aborted) leave();
  signal?.addEventListener('abort', leave, { once: true });
  const cancel =
    timeoutMs === undefined
      ? undefined
      : after(timeoutMs, () => stop.abort(new TimeoutError(`It did not end within ${timeoutMs} ms.`)));
  try {
    stop.signal.throwIfAborted();
    return await work(stop.signal);
  } finally {
    cancel?.();
    signal?.removeEventListener('abort', leave);
  }
}

/** Reads until the resource has ended. The pauses grow from half a second to five. */
export async function poll<Read>(
  read: () => Promise<Read>,
  hasEnded: (read: Read) => boolean,
  signal: AbortSignal,
): Promise<Read> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
    const found = await read();
    if (hasEnded(found)) return found;
    await pause(pauseMs, signal);
  }
}

/**
 * Reads a stream to its end as far as that is possible. What prevents it is found out by the requests that follow: a proxy
 * may hold back a stream, and let them pass.
 * @throws the reason of `signal`; what `onEvent` throws, when the stream is closed
 */
export async function follow<Event>(
  events: AsyncIterable<Event>,
  onEvent: ((event: Event) => void) | undefined,
  signal: AbortSignal,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  for (;;) {
    let next: IteratorResult<Event>;
    try {
      next = await iterator.next();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AtelierError) return;
      throw error;
    }
    if (next.done) return;
    try {
      onEvent?.(next.value);
    } catch (error) {
      await iterator.return?.();
      throw error;
    }
  }
}
