import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { dnsResolve, guardedConnector, type Resolve } from './egress-connector.ts';
import { checkDestination, checkHeader, type EgressRules } from './egress-destination.ts';
import { EgressFailure, toEgressFailure } from './egress-failure.ts';

export interface EgressRequest {
  url: string;
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** For everything together: name, connection, request, headers and body of the answer. */
  deadlineMs: number;
  /** Of the body that is kept; the rest is not read. */
  maxResponseBytes: number;
  /** Ends the request; it rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface EgressResponse {
  /** Any final one: redirects are not followed. */
  status: number;
  /** Names in lower case; what came several times is one text, with commas. */
  headers: Record<string, string>;
  /** As it came: an encoding is not decoded. */
  body: Buffer;
  /** Whether there was more of it than is kept. */
  truncated: boolean;
  durationMs: number;
}

export interface EgressOptions {
  /** Asks the DNS unless given. */
  resolve?: Resolve;
  connectTimeoutMs?: number;
  connectionsPerOrigin?: number;
}

/** undici gives a header that came several times as a list, whatever its name. */
const asTexts = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]));

const maxHeaderBytes = 16 * 1024;
/**
 * To one origin: more than a process has requests under way. Many tenants share an origin, and who waited for another's
 * connection would use up a deadline without being sent.
 */
const mostConnections = 1_024;
/** How long a connection may serve before its name is resolved and checked again. */
const connectionLifeMs = 60_000;

/** One exchange: keeps the start of the answer, and is over before the connection is if it must be. */
class Exchange implements Dispatcher.DispatchHandler {
  status: number | undefined;
  readonly over = Promise.withResolvers<{ truncated: boolean }>();
  headers: Record<string, string> = {};
  readonly #chunks: Buffer[] = [];
  readonly #maxBytes: number;
  #size = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #cut: Error | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    // It may end before anyone waits for it.
    this.over.promise.catch(() => {});
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Ends it wherever it is. A request that still waits for its connection is never sent. */
  end(error: Error): void {
    this.over.reject(error);
    this.#cut ??= error;
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cut) controller.abort(this.#cut);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.headers = asTexts(headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const kept = chunk.subarray(0, this.#maxBytes - this.#size);
    this.#chunks.push(kept);
    this.#size += kept.length;
    if (kept.length === chunk.length) return;
    this.over.resolve({ truncated: true });
    controller.abort(new Error('The rest of the answer is not wanted.'));
  }

  onResponseEnd(): void {
    this.over.resolve({ truncated: false });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.over.reject(error);
  }
}

/**
 * The only way to addresses that callers choose. Nothing but public hosts is reached, whatever a name resolves to at
 * whatever moment, no redirect is followed, no proxy is asked, and no answer takes longer or more room than it may.
 */
export class Egress {
  readonly #rules: EgressRules;
  readonly #options: EgressOptions;
  #agent: Promise<Dispatcher> | undefined;

  constructor(rules: EgressRules, options: EgressOptions = {}) {
    this.#rules = rules;
    this.#options = options;
  }

  /** What speaks against a URL, for the person who writes it; undefined when nothing does. Asks no DNS. */
  checkDestination(url: string): string | undefined {
    return checkDestination(url, this.#rules);
  }

  /**
   * Sends one request and reads its answer.
   * @throws EgressFailure of a closed list of classes; the reason of `signal`
   */
  async request({ url, method, headers, body, ...request }: EgressRequest): Promise<EgressResponse> {
    const { deadlineMs, maxResponseBytes, signal } = request;
    const begun = performance.now();
    const exchange = new Exchange(maxResponseBytes);
    const deadline = setTimeout(() => exchange.end(new EgressFailure('timeout')), deadlineMs);
    const abort = () => exchange.end(signal!.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      const { origin, pathname, search } = this.#permitted(url);
      this.#agent ??= this.#open();
      const agent = await this.#agent;
      const options = { origin, path: pathname + search, method, headers: completed(headers), body: body ?? null };
      agent.dispatch(options, exchange);
      const { truncated } = await exchange.over.promise;
      const durationMs = Math.round(performance.now() - begun);
      return { status: exchange.status!, headers: exchange.headers, body: exchange.body, truncated, durationMs };
    } catch (error) {
      if (signal?.aborted && error === signal.reason) throw error;
      const { status } = exchange;
      const durationMs = performance.now() - begun;
      throw toEgressFailure(error, { durationMs, ...(status !== undefined && { status }) });
    } finally {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  #permitted(text: string): URL {
    const problem = this.checkDestination(text);
    if (problem !== undefined) {
      throw new EgressFailure('forbidden_destination', `Requests may not be sent to this URL: ${problem}.`);
    }
    return new URL(text);
  }

  // Loaded with the first request: it takes a tenth of a second, and most processes never send one.
  async #open(): Promise<Dispatcher> {
    const { Agent, buildConnector } = await import('undici');
    const { resolve = dnsResolve(), connectTimeoutMs = 10_000, connectionsPerOrigin = mostConnections } = this.#options;
    return new Agent({
      connect: guardedConnector(buildConnector, { rules: this.#rules, resolve, timeoutMs: connectTimeoutMs }),
      connections: connectionsPerOrigin,
      clientTtl: connectionLifeMs,
      keepAliveMaxTimeout: connectionLifeMs,
      maxHeaderSize: maxHeaderBytes,
      pipelining: 1,
      // The deadline is over everything; these two start anew with every byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }
}

function completed(headers: Record<string, string> = {}): Record<string, string> {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  for (const [name, value] of Object.entries(headers)) {
    const problem = checkHeader(name, value);
    if (problem !== undefined) throw new EgressFailure('invalid_request', `The request cannot be sent: ${problem}.`);
  }
  return {
    ...(!names.includes('user-agent') && { 'user-agent': 'Atelier' }),
    ...headers,
    'accept-encoding': 'identity',
  };
}
