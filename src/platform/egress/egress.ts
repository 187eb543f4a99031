import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { CollectedBytes, PieceCount } from './collected-bytes.ts';
import { dial, dnsResolve, guardedConnector, type Resolve } from './egress-connector.ts';
import {
  checkDestination,
  checkHeader,
  type EgressRules,
  isOpened,
  maxRequestUrlLength,
} from './egress-destination.ts';
import { EgressFailure, toEgressFailure } from './egress-failure.ts';
import { poolFactory } from './origin-pool.ts';

export interface EgressRequest {
  url: string;
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Covers everything: resolving, connecting, sending, and reading headers and body. */
  deadlineMs: number;
  /** Limit of the body; the rest is not read. */
  maxResponseBytes: number;
  /**
   * Receives the body of a response with status 200, a piece at a time, in place of `body`: large files are never in
   * memory. At most 64 KiB of the body are read with any other status. When it returns a promise, the next piece is read
   * once that is fulfilled; its errors are thrown unchanged.
   */
  write?: (piece: Buffer) => Promise<void> | undefined;
  /** Called with status and headers as soon as they are received, before any of the body. */
  started?: (status: number, headers: Record<string, string>) => void;
  /** Aborts the request, which then rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface EgressResponse {
  /** Any final status; redirects are not followed. */
  status: number;
  /** Names in lower case; repeated headers are joined with commas. */
  headers: Record<string, string>;
  /** The received bytes; an encoding is not decoded. */
  body: Buffer;
  /** Whether the body exceeded `maxResponseBytes`, or the rest was not read because it came in too many small pieces. */
  truncated: boolean;
  durationMs: number;
}

export interface EgressOptions {
  /** Queries the DNS by default. */
  resolve?: Resolve;
  connectTimeoutMs?: number;
  connectionsPerOrigin?: number;
}

/** undici returns any repeated header as a list. */
const asTexts = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')]));

const maxHeaderBytes = 16 * 1024;
/** Maximum for the body of a refusal or a redirect, where the body of a success is written elsewhere. */
const maxOtherBytes = 64 * 1024;
/**
 * Per origin. Larger than the number of concurrent requests of a process: tenants can share an origin, and a request that
 * waited for another's connection could exceed its deadline without being sent.
 */
const maxConnections = 1_024;
/** Lifetime of a connection. A new one resolves and checks the name again. */
const connectionLifeMs = 60_000;

/** One exchange. It collects the start of the response, and can end before its connection does. */
class Exchange implements Dispatcher.DispatchHandler {
  status: number | undefined;
  readonly over = Promise.withResolvers<{ truncated: boolean }>();
  headers: Record<string, string> = {};
  readonly #collected = new CollectedBytes();
  readonly #pieces = new PieceCount();
  readonly #maxBytes: number;
  readonly #write: EgressRequest['write'];
  readonly #started: EgressRequest['started'];
  /** What `write` threw. */
  writeFailure: { error: unknown } | undefined;
  /** Resolves once the last piece is written. */
  #written: Promise<void> = Promise.resolve();
  #size = 0;
  #isComplete = false;
  #controller: Dispatcher.DispatchController | undefined;
  #abortReason: Error | undefined;

  constructor({ maxResponseBytes, write, started }: Pick<EgressRequest, 'maxResponseBytes' | 'write' | 'started'>) {
    this.#maxBytes = maxResponseBytes;
    this.#write = write;
    this.#started = started;
    // It may reject before it is awaited.
    this.over.promise.catch(() => {});
  }

  get body(): Buffer {
    return this.#collected.bytes();
  }

  /** Aborts the exchange. A request that still waits for a connection is never sent. */
  end(error: Error): void {
    this.over.reject(error);
    this.#abortReason ??= error;
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortReason) controller.abort(this.#abortReason);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.status = status;
    this.headers = asTexts(headers);
    this.#started?.(status, this.headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // What follows a pause is an empty piece, and pausing for it would never end.
    if (chunk.length === 0) return;
    const isWritten = this.#write !== undefined && this.status === 200;
    const maxBytes = this.#write && !isWritten ? Math.min(maxOtherBytes, this.#maxBytes) : this.#maxBytes;
    const kept = chunk.subarray(0, maxBytes - this.#size);
    this.#size += kept.length;
    if (this.#write && isWritten) this.#pass(kept, this.#write, controller);
    else this.#collected.add(kept);
    if (kept.length === chunk.length && this.#pieces.add(chunk.length)) return;
    this.#resolve({ truncated: true });
    controller.abort(new Error('The rest of the response is not needed.'));
  }

  onResponseEnd(): void {
    this.#resolve({ truncated: false });
  }

  #pass(piece: Buffer, write: NonNullable<EgressRequest['write']>, controller: Dispatcher.DispatchController): void {
    const writing = write(piece);
    if (!writing) return;
    controller.pause();
    this.#written = writing.then(
      () => controller.resume(),
      (error) => {
        this.writeFailure ??= { error };
        this.end(error);
      },
    );
  }

  /** What was received is written first. From here on the connection may end as it likes. */
  #resolve(result: { truncated: boolean }): void {
    this.#isComplete = true;
    if (this.#write) void this.#written.then(() => this.over.resolve(result));
    else this.over.resolve(result);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (!this.#isComplete) this.over.reject(error);
  }
}

/**
 * Sends all requests to callers' URLs. Only public hosts are reached, even if a name resolves to different addresses over
 * time. Redirects are not followed, no proxy is used, and responses are limited in time and size.
 */
export class Egress {
  readonly #rules: EgressRules;
  readonly #options: EgressOptions;
  #agent: Promise<Agent> | undefined;

  constructor(rules: EgressRules, options: EgressOptions = {}) {
    this.#rules = rules;
    this.#options = options;
  }

  /** Checks a URL without the DNS. @returns the problem, for the author of the URL; undefined for an allowed URL */
  checkDestination(url: string): string | undefined {
    return checkDestination(url, this.#rules);
  }

  /** Whether the host of a URL is an address that EGRESS_ALLOW_CIDRS opens, or `localhost` and that is opened. */
  isOpened(url: string): boolean {
    return isOpened(url, this.#rules);
  }

  /**
   * Sends one request and reads its response.
   * @throws EgressFailure; the reason of `signal` when it aborts
   */
  async request({ url, method, headers, body, ...request }: EgressRequest): Promise<EgressResponse> {
    const { deadlineMs, signal } = request;
    const begun = performance.now();
    const exchange = new Exchange(request);
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
      if (exchange.writeFailure?.error === error) throw error;
      const { status } = exchange;
      const durationMs = performance.now() - begun;
      throw toEgressFailure(error, { durationMs, ...(status !== undefined && { status }) });
    } finally {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Opens a TCP connection to a host that callers name, at any port: for protocols other than HTTP. Only public addresses
   * are reached. The caller closes it.
   * @throws EgressFailure
   */
  dial(hostname: string, port: number, timeoutMs: number): Promise<Socket> {
    const { resolve = dnsResolve() } = this.#options;
    return dial(hostname, port, { rules: this.#rules, resolve, timeoutMs });
  }

  /** How many origins have connections, or requests that wait for one. For tests. */
  async countOrigins(): Promise<number> {
    return Object.keys((await this.#agent)?.stats ?? {}).length;
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  #permitted(text: string): URL {
    const problem = checkDestination(text, this.#rules, maxRequestUrlLength);
    if (problem !== undefined) {
      throw new EgressFailure('forbidden_destination', `Requests to this URL are not allowed: ${problem}.`);
    }
    return new URL(text);
  }

  // undici is loaded by the first request, because loading it takes 100 ms and most processes never send one.
  async #open(): Promise<Agent> {
    const { Agent, buildConnector, Pool } = await import('undici');
    const { resolve = dnsResolve(), connectTimeoutMs = 10_000, connectionsPerOrigin = maxConnections } = this.#options;
    return new Agent({
      factory: poolFactory(Pool),
      connect: guardedConnector(buildConnector, { rules: this.#rules, resolve, timeoutMs: connectTimeoutMs }),
      connections: connectionsPerOrigin,
      clientTtl: connectionLifeMs,
      keepAliveMaxTimeout: connectionLifeMs,
      maxHeaderSize: maxHeaderBytes,
      pipelining: 1,
      // These timeouts restart with every byte. The deadline covers the whole request.
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
