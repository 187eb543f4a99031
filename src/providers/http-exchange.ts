import { setImmediate as nextLoopRound } from 'node:timers/promises';
import { EventCount } from '../platform/core/event-count.ts';
import { fetchDispatcher } from '../platform/egress-dispatcher.ts';

/** Well above the longest output of any model. */
const maxAnswerBytes = 32 * 1024 * 1024;

/** Events of one stream, keep-alives included. Providers send several tokens in each. */
const maxEvents = 20_000;

/** An answer with more bytes or events than are read. */
export class AnswerTooLong extends Error {
  override name = 'AnswerTooLong';
}

type Chunk = Uint8Array<ArrayBuffer>;

/** Bytes that are passed on before others are served. Thousands of events that came at once are read without a pause. */
const bytesPerRound = 32 * 1024;

async function* limited(response: Response): AsyncGenerator<Chunk> {
  let size = 0;
  let sinceRound = 0;
  const events = new EventCount(maxEvents);
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new AnswerTooLong(`The response is larger than ${maxAnswerBytes} bytes.`);
    // Whatever its type says: an SDK that asked for a stream reads the response as one.
    if (!events.add(chunk)) throw new AnswerTooLong(`The response has more than ${maxEvents} events.`);
    yield chunk;
    sinceRound += chunk.length;
    if (sinceRound < bytesPerRound) continue;
    sinceRound = 0;
    await nextLoopRound();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isError = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'error' in value && value.error !== null;

/** How many of the last chunks of a stream are searched for an error. */
const keptChunks = 4;

/**
 * The HTTP exchange of one call, passed to an SDK as `fetch`. It records what SDKs discard (Google's drops the headers of
 * errors, and errors within a stream), reads the whole response within the SDK's timeout, and follows no redirect, because
 * that would send the key. Streams of events are passed on as they arrive.
 */
export class HttpExchange {
  status: number | undefined;
  headers: Headers | undefined;
  /** Body of an error response, if it is JSON. */
  errorBody: unknown;
  /** The error, when no complete response was received. */
  broken: unknown;
  readonly #ended = new AbortController();
  readonly #tail: Chunk[] = [];
  readonly #timer: NodeJS.Timeout | undefined;

  /** @param streamMs limit of a stream's time, which SDKs do not enforce: their timeouts end with the headers */
  constructor(streamMs?: number) {
    if (streamMs === undefined) return;
    const late = () => this.#ended.abort(new DOMException('The stream took too long.', 'TimeoutError'));
    this.#timer = setTimeout(late, streamMs);
  }

  /** Ends the exchange, if it has not ended: not every SDK closes a stream that is not read to its end. */
  close(): void {
    clearTimeout(this.#timer);
    this.#ended.abort();
  }

  /** The error that a provider reported within its stream, if it did. */
  get streamedError(): unknown {
    const text = Buffer.concat(this.#tail).toString('utf8');
    const events = [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data]) => data!);
    // Google may also end a stream with bare JSON.
    const bare = this.#tail.at(-1);
    return [...events, bare ? Buffer.from(bare).toString('utf8') : ''].map(parseJson).findLast(isError);
  }

  async *#passOn(response: Response, reader: AbortSignal | null | undefined): AsyncGenerator<Chunk> {
    try {
      for await (const chunk of limited(response)) {
        this.#tail.push(chunk);
        if (this.#tail.length > keptChunks) this.#tail.shift();
        yield chunk;
      }
    } catch (error) {
      // A reader that has had enough, for example because of a part that is no JSON, ends the stream itself.
      if (!reader?.aborted || this.#ended.signal.aborted) this.broken = error;
      throw error;
    }
  }

  async #bodyOf(response: Response, reader?: AbortSignal | null): Promise<ReadableStream<Chunk> | Chunk | null> {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    if (response.ok && isStream) return ReadableStream.from(this.#passOn(response, reader));
    const chunks: Chunk[] = [];
    for await (const chunk of limited(response)) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (!response.ok) this.errorBody = parseJson(body.toString('utf8'));
    return body.length > 0 ? body : null;
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    try {
      const dispatcher = await fetchDispatcher();
      const signal = init?.signal ? AbortSignal.any([init.signal, this.#ended.signal]) : this.#ended.signal;
      const response = await fetch(input, { ...init, signal, redirect: 'manual', dispatcher });
      this.status = response.status;
      this.headers = response.headers;
      const body = await this.#bodyOf(response, init?.signal);
      const headers = new Headers(response.headers);
      // The body is already decoded, so these headers no longer apply.
      for (const name of ['content-encoding', 'content-length']) headers.delete(name);
      const { status, statusText } = response;
      return new Response(body, { status, statusText, headers });
    } catch (error) {
      this.broken = error;
      throw error;
    }
  };
}
