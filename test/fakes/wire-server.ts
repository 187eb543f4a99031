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
  /** Of the input, read from a cache. */
  cachedTokens?: number;
  outputTokens?: number;
  /** Of the output, spent on thinking. */
  thinkingTokens?: number;
  end?: 'finished' | 'limit' | 'refused';
}

export interface WireAnswer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

export type Behaviour =
  | { say: Said }
  | { fail: WireAnswer }
  /** Answers after this many milliseconds. */
  | { after: number; then?: Behaviour }
  /** Takes the request and says nothing for ever. */
  | 'silence'
  /** Headers and half of the answer, then nothing for ever. */
  | 'stall'
  /** Ends the connection before anything was done. */
  | 'hang up'
  /** Does the work and ends the connection: the answer is lost. */
  | 'lose the answer'
  /** Half of the answer, then the end of the connection. */
  | 'cut the answer'
  /** A complete HTTP answer whose JSON ends in the middle. */
  | 'truncate'
  /** The page of some gateway, with status 200. */
  | 'page';

/** One provider's wire format. */
export interface Dialect {
  isRoute(method: string, url: URL): boolean;
  keyOf(headers: IncomingHttpHeaders, url: URL): string | undefined;
  notFound: WireAnswer;
  wrongKey: WireAnswer;
  /** What the provider would refuse. */
  refuse(received: Received): WireAnswer | undefined;
  say(received: Received, said: Said): WireAnswer;
}

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

async function act(behaviour: Behaviour, answer: WireAnswer, received: Received, response: ServerResponse) {
  const json = JSON.stringify(answer.body);
  const half = json.slice(0, Math.floor(json.length / 2));
  const begin = () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      ...answer.headers,
      'content-length': Buffer.byteLength(json),
    });
    response.write(half);
  };
  const hangUp = () => {
    received.end = { at: Date.now(), by: 'server' };
    response.destroy();
  };
  if (typeof behaviour === 'object') {
    if ('after' in behaviour) {
      await sleep(behaviour.after);
      await act(behaviour.then ?? { say: {} }, answer, received, response);
    } else if ('fail' in behaviour) write(response, behaviour.fail);
    else {
      received.worked = true;
      write(response, answer);
    }
    return;
  }
  received.worked = !['silence', 'hang up', 'page'].includes(behaviour);
  if (behaviour === 'hang up' || behaviour === 'lose the answer') hangUp();
  if (behaviour === 'stall') begin();
  if (behaviour === 'cut the answer') {
    begin();
    await sleep(20);
    hangUp();
  }
  if (behaviour === 'truncate') {
    response.writeHead(200, { 'content-type': 'application/json', ...answer.headers }).end(half);
  }
  if (behaviour === 'page') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Please wait</body></html>');
  }
}

const saidOf = (behaviour: Behaviour): Said => {
  if (typeof behaviour === 'string') return {};
  if ('after' in behaviour) return saidOf(behaviour.then ?? { say: {} });
  return 'say' in behaviour ? behaviour.say : {};
};

/** A server on a free loopback port that speaks `dialect`, does as it is told, and remembers what it heard. */
export async function startWireServer(dialect: Dialect, apiKey: string, basePath = ''): Promise<FakeProvider> {
  const journal: Received[] = [];
  let script: Behaviour[] = [];
  let otherwise: Behaviour = { say: {} };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const { method = '', headers } = request;
    const key = dialect.keyOf(headers, url);
    const body = await readBody(request);
    const received: Received = { at: Date.now(), method, path: url.pathname, headers, key, body, worked: false };
    journal.push(received);
    response.on('close', () => {
      received.end ??= { at: Date.now(), by: response.writableFinished ? 'answer' : 'client' };
    });
    if (!dialect.isRoute(method, url)) return write(response, dialect.notFound);
    if (key !== apiKey) return write(response, dialect.wrongKey);
    const behaviour = script.shift() ?? otherwise;
    const refusal = dialect.refuse(received);
    if (refusal) return write(response, refusal);
    await act(behaviour, dialect.say(received, saidOf(behaviour)), received, response);
  }

  // A fake that is at a loss says so, for nobody would hear what it throws.
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => write(response, { status: 599, body: { error: String(error) } }));
  });
  server.listen(0, '127.0.0.1');
  // A test that fails before it closes its fakes still ends.
  server.unref();
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const fake: FakeProvider = {
    ...{ origin, baseUrl: origin + basePath, apiKey, journal },
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
