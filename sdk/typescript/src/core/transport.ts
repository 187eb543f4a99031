import { createClient } from '../generated/api/client/index.ts';
import type { Client } from '../generated/api/client/types.gen.ts';
import { AtelierError, ConnectionError, errorOf, TimeoutError } from './errors.ts';
import type { ClientOptions, RequestOptions, StreamOptions } from './options.ts';
import { List, type Query } from './pagination.ts';
import { ReplyStream } from './replies.ts';
import { type Attempts, maxTimerMs, pause, pauseBeforeRetry } from './retries.ts';
import { type Connection, EventStream, type ServerEvent } from './streams.ts';
import { prepareForm } from './uploads.ts';

/** A generated operation. */
export type Operation = (options: never) => Promise<unknown>;

/** The parts of a request. */
export interface Request {
  path?: Record<string, unknown>;
  query?: object | undefined;
  body?: unknown;
}

/** The document's data about an operation. */
export interface Traits {
  answer: 'json' | 'bytes' | 'nothing';
  /** Whether the answer is in the envelope `{success, data}`. */
  isEnveloped?: boolean;
  /** Whether it can be repeated after a failure. */
  isRepeatable?: boolean;
  /** Whether it takes an Idempotency-Key. */
  takesKey?: boolean;
}

/** The result of a generated operation. */
interface Outcome {
  data?: unknown;
  error?: unknown;
  /** Absent if there was nothing to send: the arguments are no request. */
  request?: globalThis.Request;
  response?: Response;
}

const defaults = { timeoutMs: 60_000, maxRetries: 2 };

/** Field values of a header, without which the error of `fetch` would contain the key. */
const keyPattern = /^[!-~]+$/;

const parseAs = { json: 'text', bytes: 'blob', nothing: 'text' } as const;

/** The data of an answer. @throws ConnectionError for an answer that is not one of the service */
function dataOf({ data, response }: Outcome, { answer, isEnveloped }: Traits): unknown {
  if (answer === 'bytes') return data;
  if (answer === 'nothing') return undefined;
  // A document in another requested form.
  if (/yaml/.test(response?.headers.get('content-type') ?? '')) return data;
  let body: unknown;
  try {
    body = JSON.parse(data as string);
  } catch (cause) {
    throw new ConnectionError('The answer is no JSON, or ends early.', { cause });
  }
  if (!isEnveloped) return body;
  if (typeof body !== 'object' || body === null || !('success' in body) || body.success !== true || !('data' in body)) {
    throw new ConnectionError('The answer is none of this service.');
  }
  return body.data;
}

function readBody(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Makes requests: with the key, in time, and again where that can help. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #client: Client;

  /** @throws TypeError when an option cannot be used */
  constructor(options: ClientOptions) {
    const { apiKey, baseUrl, fetch } = options;
    if (!/^https?:\/\//.test(baseUrl ?? '')) throw new TypeError('baseUrl must be an address: https://api.example.com');
    if (apiKey !== undefined && !keyPattern.test(apiKey))
      throw new TypeError('apiKey contains characters that no key has.');
    this.#options = options;
    this.#client = createClient({
      baseUrl: baseUrl.replace(/\/$/, ''),
      headers: {
        'X-API-Variant': 'A',
        ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
        ...options.headers,
      },
      ...(fetch && { fetch }),
    });
  }

  /** The same connection with other options. */
  withOptions(options: Partial<ClientOptions>): Transport {
    return new Transport({ ...this.#options, ...options });
  }

  /** Calls an operation, and repeats it where that is safe and may help. @throws AtelierError; the reason of the signal */
  async call<Answer>(
    operation: Operation,
    request: Request,
    traits: Traits,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const { signal, maxRetries = this.#options.maxRetries ?? defaults.maxRetries } = options;
    const { isRepeatable = false, takesKey = false } = traits;
    const key = options.idempotencyKey ?? (takesKey ? crypto.randomUUID() : undefined);
    const { isReadable, ...sent } = this.#prepare(request, { ...options, idempotencyKey: key });
    const retries = isRepeatable && isReadable ? maxRetries : 0;
    const attempts: Attempts = { made: 0, madeKey: key !== options.idempotencyKey };
    for (;;) {
      try {
        return (await this.#attempt(operation, sent, traits, options)) as Answer;
      } catch (error) {
        attempts.made += 1;
        const pauseMs = error instanceof AtelierError ? pauseBeforeRetry(error, attempts) : undefined;
        if (pauseMs === undefined || attempts.made > retries) throw error;
        await pause(pauseMs, signal);
      }
    }
  }

  /** A list whose pages are read with an operation. */
  list<Item>(operation: Operation, request: Request, member: string, options?: RequestOptions): List<Item> {
    const traits: Traits = { answer: 'json', isEnveloped: true, isRepeatable: true };
    const read = (query: Query) => this.call(operation, { ...request, query }, traits, options);
    return new List<Item>(read, { ...request.query }, member);
  }

  /**
   * A stream of events that an operation answers with.
   * @param isLast whether nothing follows an event; a stream without a last event is opened anew when it ends
   */
  stream<Event extends ServerEvent>(
    operation: Operation,
    request: Request,
    options: StreamOptions = {},
    isLast: (event: ServerEvent) => boolean = () => false,
  ): EventStream<Event> {
    const { maxRetries, timeoutMs } = this.#limits(options);
    return new EventStream<Event>({
      open: (connection) => this.connect(operation, request, connection, options),
      isLast,
      maxRetries,
      silenceMs: timeoutMs,
      signal: options.signal,
      lastEventId: options.lastEventId,
    });
  }

  /** The reply of a model as a stream. */
  reply(operation: Operation, body: object, options: RequestOptions = {}): ReplyStream {
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    const { maxRetries, timeoutMs } = this.#limits(options);
    return new ReplyStream({
      open: (connection) => this.connect(operation, { body }, connection, { ...options, idempotencyKey }),
      maxRetries,
      silenceMs: timeoutMs,
      signal: options.signal,
      isAgain: true,
    });
  }

  /** Opens one connection of a stream. @throws AtelierError; the reason of the connection's signal */
  async connect(
    operation: Operation,
    request: Request,
    { lastEventId, signal }: Connection,
    options: RequestOptions,
  ): Promise<Response> {
    const { isReadable: _, headers, ...sent } = this.#prepare(request, options);
    const after = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    const opened = {
      ...sent,
      headers: { ...headers, ...after, Accept: 'text/event-stream' },
      signal,
      parseAs: 'stream',
    };
    // A generated stream parses by itself. Ours is opened by the same operation as any request.
    const client = { ...this.#client, sse: this.#client };
    const { error, request: sending, response } = await this.#run(operation, { ...opened, client });
    if (!sending && !signal.aborted) throw error;
    if (!response) throw signal.aborted ? signal.reason : lost(error);
    if (!response.ok) throw errorOf(response, error);
    return response;
  }

  /** How often a call is repeated, and how long an attempt may take. */
  #limits(options: RequestOptions): { maxRetries: number; timeoutMs: number } {
    return {
      maxRetries: options.maxRetries ?? this.#options.maxRetries ?? defaults.maxRetries,
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs ?? defaults.timeoutMs,
    };
  }

  #run(operation: Operation, input: object): Promise<Outcome> {
    return (operation as unknown as (input: object) => Promise<Outcome>)(input);
  }

  #prepare({ path, query, body }: Request, { idempotencyKey, headers }: RequestOptions) {
    const form = typeof body === 'object' && body !== null && isForm(body) ? prepareForm(body) : undefined;
    return {
      ...(path && { path }),
      ...(query && { query }),
      ...(form ? { body: form.body } : body !== undefined && { body }),
      ...(form?.bodySerializer && { bodySerializer: form.bodySerializer, duplex: 'half' }),
      headers: {
        ...form?.headers,
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        ...headers,
      },
      isReadable: form?.isReadable ?? true,
    };
  }

  async #attempt(operation: Operation, sent: object, traits: Traits, options: RequestOptions): Promise<unknown> {
    const { timeoutMs } = this.#limits(options);
    const late = AbortSignal.timeout(Math.min(timeoutMs, maxTimerMs));
    const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
    const outcome = await this.#run(operation, {
      ...sent,
      client: this.#client,
      signal,
      parseAs: parseAs[traits.answer],
    });
    const { error, response } = outcome;
    if (error === undefined && response?.ok) return dataOf(outcome, traits);
    if (options.signal?.aborted) throw options.signal.reason;
    if (!outcome.request) throw error;
    if (late.aborted) throw new TimeoutError(`There was no answer within ${timeoutMs} ms.`);
    if (!response || response.ok) throw lost(error);
    throw errorOf(response, readBody(error));
  }
}

const lost = (cause: unknown): ConnectionError =>
  new ConnectionError('The connection to the service failed.', { cause });

/** Whether a body has a file in it. */
const isForm = (body: object): boolean =>
  Object.values(body).some(
    (value) =>
      value instanceof Blob ||
      value instanceof ArrayBuffer ||
      value instanceof Uint8Array ||
      (typeof value === 'object' && value !== null && Symbol.asyncIterator in value),
  );
