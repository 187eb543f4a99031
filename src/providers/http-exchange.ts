import { setImmediate as nextLoopRound } from 'node:timers/promises';
import { JsonBounds, readJson } from '../platform/core/bounded-json.ts';
import { EventBounds } from '../platform/core/event-bounds.ts';
import { CollectedBytes, PieceCount } from '../platform/egress/collected-bytes.ts';
import { fetchDispatcher } from '../platform/egress/egress-dispatcher.ts';

/** Well above the longest stream and the largest file of any model. */
const maxAnswerBytes = 32 * 1024 * 1024;

/** Maximum for one JSON answer, and for one event of a stream. */
const maxJsonBytes = 8 * 1024 * 1024;

/** Maximum for an error that is reported within a stream. */
const maxErrorBytes = 64 * 1024;

/** Maximum events of one stream, keep-alives included, unless more tokens are requested. */
const usualEvents = 20_000;
/** Events of a stream that are not tokens. */
const otherEvents = 4_000;

/** Events of a stream of so many tokens: a provider may send each in an event of its own. */
export const eventsOf = (tokens: number | undefined): number => Math.max(usualEvents, (tokens ?? 0) + otherEvents);

/** An answer that is more than is read. */
export class AnswerTooLong extends Error {
  override name = 'AnswerTooLong';
}

type Chunk = Uint8Array<ArrayBuffer>;

/** The allowed form of a body: JSON as a whole, a stream of JSON events if it is declared as one, or a file. */
export type BodyForm = 'json' | 'events' | 'file';

/** Bytes that are passed on before others are served. Thousands of events that came at once are read without a pause. */
const bytesPerRound = 32 * 1024;

const wordings = {
  too_large: 'is too large',
  too_deep: 'is nested too deeply',
  too_many: 'has too many objects, lists and members',
  too_many_events: 'has too many events',
};

/** @returns what is wrong with a body, as its pieces arrive */
function checkOf(form: BodyForm, maxEvents: number): (piece: Uint8Array) => keyof typeof wordings | undefined {
  if (form === 'file') return () => undefined;
  // An SDK that asked for a stream reads any response as one. Arguments of calls that are too deep are the model's
  // fault, and the model is shown the problem.
  const limits = { maxBytes: maxJsonBytes, maxDepth: Number.POSITIVE_INFINITY };
  const events = new EventBounds(maxEvents, limits);
  const whole = new JsonBounds(limits);
  return (piece) => (form === 'json' ? whole.add(piece) : undefined) ?? events.add(piece);
}

/** @throws AnswerTooLong */
async function* limited(response: Response, form: BodyForm, maxEvents = usualEvents): AsyncGenerator<Chunk> {
  let size = 0;
  let sinceRound = 0;
  const check = checkOf(form, maxEvents);
  const pieces = new PieceCount(maxEvents);
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new AnswerTooLong(`The response is larger than ${maxAnswerBytes} bytes.`);
    if (!pieces.add(chunk.length)) throw new AnswerTooLong('The response is sent in too many small pieces.');
    const excess = check(chunk);
    if (excess) throw new AnswerTooLong(`The response ${wordings[excess]}.`);
    yield chunk;
    sinceRound += chunk.length;
    if (sinceRound < bytesPerRound) continue;
    sinceRound = 0;
    await nextLoopRound();
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

  readonly #form: BodyForm;
  readonly #maxEvents: number;

  /**
   * @param streamMs limit of a stream's time, which SDKs do not enforce: their timeouts end with the headers
   * @param form what the body of a success is: JSON unless given
   * @param maxEvents of a stream
   */
  constructor(streamMs?: number, form: BodyForm = 'json', maxEvents = usualEvents) {
    this.#form = form;
    this.#maxEvents = maxEvents;
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
    return [...events, bare ? Buffer.from(bare).toString('utf8') : '']
      .map((json) => readJson(json, maxErrorBytes))
      .findLast(isError);
  }

  async *#passOn(response: Response, reader: AbortSignal | null | undefined): AsyncGenerator<Chunk> {
    try {
      for await (const chunk of limited(response, 'events', this.#maxEvents)) {
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
    const isDeclared = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    if (response.ok && isDeclared && this.#form === 'events')
      return ReadableStream.from(this.#passOn(response, reader));
    const collected = new CollectedBytes();
    for await (const chunk of limited(response, response.ok && this.#form === 'file' ? 'file' : 'json'))
      collected.add(chunk);
    const body = collected.bytes();
    if (!response.ok) this.errorBody = readJson(body, maxJsonBytes);
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
