import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type Json = Record<string, unknown>;

/** A request as it came in, and what became of it. */
export interface Received {
  at: number;
  method: string;
  path: string;
  query?: string;
  headers: IncomingHttpHeaders;
  /** The credential that it showed, in whichever header. */
  key: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every provider
  body: any;
  /** Whether the work was done: an answer was made, even if it never arrived. */
  worked: boolean;
  /** How the exchange ended, and when. */
  end?: { at: number; by: 'answer' | 'client' | 'server' };
}

/** What a model says, in no provider's form. */
export interface Said {
  text?: string;
  inputTokens?: number;
  /** Input tokens that were read from a cache. */
  cachedTokens?: number;
  outputTokens?: number;
  /** Output tokens that were spent on thinking. */
  thinkingTokens?: number;
  end?: 'finished' | 'limit' | 'refused';
  /** Calls of tools; `text` is then written beside them. */
  calls?: SaidCall[];
}

export interface SaidCall {
  /** Undefined: the provider's own, if it gives any. */
  id?: string;
  name: string;
  args: Json;
  /** What is written in place of the arguments, where the wire carries them as a text. */
  rawArgs?: string;
}

export interface WireAnswer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

export type Behaviour =
  /** `everyMs`: the time between two parts of a stream. */
  | { say: Said; everyMs?: number }
  | { fail: WireAnswer }
  /** Answers after this many milliseconds, or once this is fulfilled. */
  | { after: number | Promise<unknown>; then?: Behaviour }
  /** Takes the request and says nothing for ever. */
  | 'silence'
  /** Headers and half of the answer, or of this one, then nothing for ever. */
  | 'stall'
  | { stall: Said }
  /** Ends the connection before anything was done. */
  | 'hang up'
  /** Does the work and ends the connection: the answer is lost. */
  | 'lose the answer'
  /** Half of the answer, then the end of the connection. */
  | 'cut the answer'
  /** A complete HTTP answer whose JSON ends in the middle, or a stream that ends before the answer does. */
  | 'truncate'
  /** An answer with a part that is not JSON. */
  | 'garbage'
  /** Text without an end. */
  | 'endless'
  /** So many events before the rest: of one character each, or keep-alives. */
  | { flood: number; with: 'text' | 'comments'; say?: Said }
  /** A stream that ends with this error. */
  | { interrupt: WireAnswer }
  /** The page of some gateway, with status 200. */
  | 'page'
  /** This text with status 200, declared as this type. */
  | { text: string; type: string };

/** One provider's wire format. */
export interface Dialect {
  isRoute(method: string, url: URL): boolean;
  keyOf(headers: IncomingHttpHeaders, url: URL): string | undefined;
  notFound: WireAnswer;
  wrongKey: WireAnswer;
  /** What the provider would refuse. */
  refuse(received: Received): WireAnswer | undefined;
  say(received: Received, said: Said): WireAnswer;
  /** The answer as a stream: bodies of its events, or their text. Undefined unless one was asked for. */
  stream(received: Received, answer: WireAnswer): (Json | string)[] | undefined;
  /** A part of a text that is streamed. */
  delta(text: string): Json;
  /** An event as it goes over the wire. */
  frame(event: Json): string;
}

/** An event with its body alone. */
export const dataFrame = (event: Json) => `data: ${JSON.stringify(event)}\n\n`;

/** A text in parts, as it might be streamed. */
export const piecesOf = (text: string, size = Math.max(1, Math.ceil(text.length / 3))): string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size));

export interface FakeProvider {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  /** What the environment's base URL is set to. */
  baseUrl: string;
  /** The only key that it knows. */
  apiKey: string;
  journal: Received[];
  /** What it does with the next requests, one after another; afterwards it answers. */
  next(...behaviours: Behaviour[]): void;
  /** What it does with every request that `next` says nothing of; undefined: it answers. */
  always(behaviour: Behaviour | undefined): void;
  /** Forgets the journal and the script. */
  reset(): void;
  close(): Promise<void>;
}

export const bearer = (headers: IncomingHttpHeaders) => /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];

export const countTokens = (text: string) => Math.max(1, Math.ceil(Buffer.byteLength(text) / 4));

/** Names of fields that are not among the known ones. */
export const unknownFields = (value: unknown, known: readonly string[]) =>
  Object.keys((value ?? {}) as Json).filter((name) => !known.includes(name));

export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

export function write(response: ServerResponse, { status, headers, body }: WireAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** What is written of an answer: a stream in its events, or a body in two halves. */
interface Writing {
  headers: Record<string, string | number>;
  parts: string[];
  garbage: string;
  more: string;
}

function writingOf(dialect: Dialect, answer: WireAnswer, received: Received): Writing {
  const events = dialect.stream(received, answer);
  if (events) {
    return {
      headers: { ...answer.headers, 'content-type': 'text/event-stream' },
      parts: events.map((event) => (typeof event === 'string' ? event : dialect.frame(event))),
      garbage: dialect.frame({ type: 'content_block_delta' }).replace(/[}\]]/g, ''),
      more: dialect.frame(dialect.delta('and so on '.repeat(1_000))),
    };
  }
  const json = JSON.stringify(answer.body);
  const half = Math.floor(json.length / 2);
  return {
    headers: { 'content-type': 'application/json', ...answer.headers },
    parts: [json.slice(0, half), json.slice(half)],
    garbage: '}',
    more: ' '.repeat(64 * 1024),
  };
}

/** In several packets, as a stream arrives. */
async function writeParts(response: ServerResponse, parts: string[], everyMs = 1): Promise<void> {
  for (const part of parts) {
    response.write(part);
    await sleep(everyMs);
  }
}

async function writeEndless(response: ServerResponse, { parts, more }: Writing): Promise<void> {
  await writeParts(response, parts.slice(0, Math.ceil(parts.length / 2)));
  while (!response.destroyed) {
    if (response.write(more)) await sleep(0);
    else await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
}

const unworked: Behaviour[] = ['silence', 'hang up', 'page'];

async function act(
  behaviour: Behaviour,
  answer: WireAnswer,
  received: Received,
  response: ServerResponse,
  dialect: Dialect,
) {
  if (typeof behaviour === 'object' && 'after' in behaviour) {
    await (typeof behaviour.after === 'number' ? sleep(behaviour.after) : behaviour.after);
    return act(behaviour.then ?? { say: {} }, answer, received, response, dialect);
  }
  if (typeof behaviour === 'object' && 'fail' in behaviour) return write(response, behaviour.fail);
  if (typeof behaviour === 'object' && 'text' in behaviour) {
    response.writeHead(200, { 'content-type': behaviour.type }).end(behaviour.text);
    return;
  }
  received.worked = !unworked.includes(behaviour);
  if (behaviour === 'silence') return;
  if (behaviour === 'page') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Please wait</body></html>');
    return;
  }
  const hangUp = () => {
    received.end = { at: Date.now(), by: 'server' };
    response.destroy();
  };
  if (behaviour === 'hang up' || behaviour === 'lose the answer') return hangUp();

  const writing = writingOf(dialect, answer, received);
  const { headers, parts, garbage } = writing;
  const half = parts.slice(0, Math.ceil(parts.length / 2));
  response.writeHead(200, headers);
  if (behaviour === 'endless') return writeEndless(response, writing);
  if (behaviour === 'garbage') return void response.end([...half, garbage, ...parts.slice(half.length)].join(''));
  const isFlood = typeof behaviour === 'object' && 'flood' in behaviour;
  if (isFlood) {
    const event = behaviour.with === 'text' ? dialect.frame(dialect.delta('x')) : ': keep-alive\n\n';
    const at = parts.length - half.length;
    return void response.end([...parts.slice(0, at), event.repeat(behaviour.flood), ...parts.slice(at)].join(''));
  }
  const isWhole = typeof behaviour === 'object' && 'say' in behaviour;
  await writeParts(response, isWhole ? parts : half, isWhole ? behaviour.everyMs : undefined);
  if (behaviour === 'stall' || (typeof behaviour === 'object' && 'stall' in behaviour)) return;
  if (behaviour === 'cut the answer') {
    await sleep(20);
    return hangUp();
  }
  if (typeof behaviour === 'object' && 'interrupt' in behaviour) {
    response.write(dialect.frame(behaviour.interrupt.body as Json));
  }
  response.end();
}

const saidOf = (behaviour: Behaviour): Said => {
  if (typeof behaviour === 'string') return {};
  if ('after' in behaviour) return saidOf(behaviour.then ?? { say: {} });
  if ('stall' in behaviour) return behaviour.stall;
  return 'say' in behaviour ? (behaviour.say ?? {}) : {};
};

/** A server on a free loopback port that speaks `dialect`, behaves as configured, and records its requests. */
export async function startWireServer(dialect: Dialect, apiKey: string, basePath = ''): Promise<FakeProvider> {
  const journal: Received[] = [];
  let script: Behaviour[] = [];
  let otherwise: Behaviour = { say: {} };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const { method = '', headers } = request;
    const key = dialect.keyOf(headers, url);
    const body = await readBody(request);
    const { pathname: path, search: query } = url;
    const received: Received = { at: Date.now(), method, path, query, headers, key, body, worked: false };
    journal.push(received);
    response.on('close', () => {
      received.end ??= { at: Date.now(), by: response.writableFinished ? 'answer' : 'client' };
    });
    if (!dialect.isRoute(method, url)) return write(response, dialect.notFound);
    if (key !== apiKey) return write(response, dialect.wrongKey);
    const behaviour = script.shift() ?? otherwise;
    const refusal = dialect.refuse(received);
    if (refusal) return write(response, refusal);
    await act(behaviour, dialect.say(received, saidOf(behaviour)), received, response, dialect);
  }

  // A fake without an answer says so in its response, because an exception would not be seen.
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => write(response, { status: 599, body: { error: String(error) } }));
  });
  server.listen(0, '127.0.0.1');
  // A test that fails before it closes its fakes still ends.
  server.unref();
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const fake: FakeProvider = {
    origin,
    baseUrl: origin + basePath,
    apiKey,
    journal,
    next: (...behaviours) => script.push(...behaviours),
    always(behaviour) {
      otherwise = behaviour ?? { say: {} };
    },
    reset() {
      journal.length = 0;
      script = [];
      otherwise = { say: {} };
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return fake;
}
