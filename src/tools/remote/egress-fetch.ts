import { setImmediate as otherWork } from 'node:timers/promises';
import type { FetchLike } from '@modelcontextprotocol/client';
import { JsonBounds } from '../../platform/core/bounded-json.ts';
import { EventBounds } from '../../platform/core/event-bounds.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import { maxMessageLength, maxMessageStructures, maxNotifications } from '../limits.ts';
import { AnswerTooComplex, AnswerTooLarge, ToolFailure, TooManyNotifications } from '../tool.ts';

type Method = 'GET' | 'POST' | 'DELETE';

interface OutgoingRequest {
  method: Method;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/** Additions to the headers of a request, such as credentials. */
export type Authorize = (request: OutgoingRequest) => Promise<Record<string, string>>;

interface EgressFetchOptions {
  egress: Pick<Egress, 'request'>;
  deadlineMs: number;
  authorize: Authorize;
  /** Called if a request that has begun cannot be completed, and if the server refuses the credentials. */
  broken(failure: Error): void;
  /** Called when the server does not know the session of a request. */
  forgotten(): void;
}

const isText = (value: unknown): value is string => typeof value === 'string';

const noBody = [101, 204, 205, 304];
const toResponse = (status: number, headers: Record<string, string>, body: ReadableStream | Uint8Array | null) =>
  new Response(noBody.includes(status) ? null : (body as never), {
    status: status >= 200 && status <= 599 ? status : 502,
    headers,
  });

/** The failure for a 401 or 403: the server does not accept the organization's credentials. */
const refused = () => new ToolFailure('The tool server refused the credentials.');

/** The protocol's client deals with all messages of a piece before anything else: a large piece has a thousand of them. */
const sliceBytes = 8 * 1024;

const openingBracket = 0x5b;

/**
 * Checks the messages of an answer as its bytes arrive, whether they come as events, as a list or as one.
 * @returns why the rest is not read
 */
function messageCheck(isStream: boolean): (piece: Uint8Array) => Error | undefined {
  const limits = { maxBytes: maxMessageLength, maxStructures: maxMessageStructures };
  // One more than the notifications: the answer itself.
  const events = new EventBounds(maxNotifications + 1, limits);
  const whole = new JsonBounds(limits);
  let isFirst = true;
  return (piece) => {
    const isList = isFirst && Buffer.from(piece).toString('latin1').trimStart().charCodeAt(0) === openingBracket;
    if (piece.length > 0) isFirst = false;
    if (isList) return new Error('The tool server answered with a list of messages.');
    const excess = (isStream ? undefined : whole.add(piece)) ?? events.add(piece);
    if (excess === 'too_many_events') return new TooManyNotifications(maxNotifications);
    if (excess === 'too_large') return new AnswerTooLarge(maxMessageLength);
    return excess && new AnswerTooComplex();
  };
}

/**
 * Sends the requests of the Model Context Protocol through the egress guard: to public addresses only, whatever a name
 * resolves to, with limits of time and size, and without following redirects. A server gets no stream for messages that
 * were not requested.
 */
export const egressFetch =
  ({ egress, deadlineMs, authorize, broken, forgotten }: EgressFetchOptions): FetchLike =>
  async (address, init = {}) => {
    const method = (init.method ?? 'GET') as Method;
    if (method === 'GET') return new Response(null, { status: 405 });
    const url = new URL(address);
    const given = Object.fromEntries(new Headers(init.headers as never).entries());
    const body = isText(init.body) ? init.body : '';
    const headers = { ...given, ...(await authorize({ method, url, headers: given, body })) };
    const answered = Promise.withResolvers<Response>();
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const fail = (failure: Error) => {
      answered.reject(failure);
      writer.abort(failure).catch(() => {});
      broken(failure);
    };
    let check = messageCheck(false);
    egress
      .request({
        url: url.href,
        method,
        headers,
        deadlineMs,
        maxResponseBytes: maxMessageLength,
        ...(method !== 'DELETE' && { body }),
        ...(init.signal && { signal: init.signal }),
        started: (status, of) => {
          check = messageCheck(of['content-type']?.includes('text/event-stream') ?? false);
          if (status === 200) answered.resolve(toResponse(status, of, readable));
        },
        async write(piece) {
          const problem = check(piece);
          if (problem) throw problem;
          for (let at = 0; at < piece.length; at += sliceBytes) {
            if (at > 0) await otherWork();
            await writer.write(piece.subarray(at, at + sliceBytes));
          }
        },
      })
      .then(
        ({ status, headers: of, body: rest, truncated }) => {
          if (truncated) return fail(new AnswerTooLarge(maxMessageLength));
          writer.close().catch(() => {});
          if (status === 404 && headers['mcp-session-id'] !== undefined) forgotten();
          if (status === 401 || status === 403) broken(refused());
          answered.resolve(toResponse(status, of, rest.length === 0 ? null : new Uint8Array(rest)));
        },
        (error: Error) => (init.signal?.aborted ? answered.reject(error) : fail(error)),
      );
    return answered.promise;
  };
