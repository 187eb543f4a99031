import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { bearer, type Json, type WireAnswer, write } from '../wire-server.ts';
import { GrantError, type GrantRules, Grants } from './oauth-grants.ts';
import { openConsentPage, pour, tokenAnswer } from './oauth-wire.ts';

/** A request that came in, and whether its work was done. */
export interface AppRequest {
  endpoint: 'authorize' | 'token' | 'revoke' | 'api';
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** Parsed, of JSON or of a form. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every provider
  body: any;
  /** The account of its access token. */
  account?: string;
  worked: boolean;
}

/** What the app does with a request. */
export type AppBehaviour =
  | { fail: WireAnswer }
  /** Answers after this many milliseconds. */
  | { after: number }
  /** Takes the request and says nothing for ever. */
  | 'silence'
  /** Ends the connection before anything was done. */
  | 'hang up'
  /** Does the work, and ends the connection. */
  | 'lose the answer'
  /** Does the work, and answers with the page of some gateway. */
  | 'page'
  /** Does the work, and sends half of its answer's JSON. */
  | 'truncate'
  /** Does the work, and its answer does not end. */
  | 'endless'
  /** Does the work, and sends a space of its answer now and then, for ever. */
  | 'drip'
  /** Does the work, and answers with lists in lists, a million deep. */
  | 'deep';

/** What the owner of an account does. */
export interface AppConsent {
  account?: string;
  deny?: boolean;
  /** What is granted, where it is not everything. */
  scope?: string;
}

/** What differs from one provider to the next. */
export interface AppDialect {
  /** Undefined for a provider whose accounts are connected in another way. */
  paths?: { authorize: string; token: string; revoke?: string };
  /** The proof of access in a request, where it is no bearer token. */
  tokenOf?(headers: IncomingMessage['headers']): string | undefined;
  /** Proofs that are good without a grant, and whose they are. */
  keys?: Readonly<Record<string, string>>;
  /** Without PKCE no verifier is checked, and none may be sent. */
  pkce: boolean;
  rules: GrantRules;
  /** For an answer of the token endpoint. @param answer as OAuth has it @param account who granted */
  tokenAnswer?(answer: Json, account: string): Json;
  /** An error of the token endpoint. */
  tokenError?(code: string, form: Record<string, string>): WireAnswer;
  /** The answer of the revocation endpoint, where it is not an empty object. */
  revoked?: Json;
  /** For a request with an access token that is not good. */
  refused(request: AppRequest): WireAnswer;
  /** Does what an API request asks for. */
  answer(request: AppRequest, account: string): WireAnswer;
}

export interface FakeApp {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  clientId: string;
  clientSecret: string;
  journal: AppRequest[];
  grants: Grants;
  /** What it does with the next requests to its API, one after another; afterwards it answers. */
  next(...behaviours: AppBehaviour[]): void;
  /** The same, for the token and the revocation endpoint. */
  nextToken(...behaviours: AppBehaviour[]): void;
  /** What it does with every request to its API that `next` says nothing of; undefined: it answers. */
  always(behaviour: AppBehaviour | undefined): void;
  /** Clears the journal and the configured behaviour. */
  reset(): void;
  /** What the owner of an account does at an `authUrl`. @returns the address to which the browser is sent */
  consent(authUrl: string, options?: AppConsent): Promise<URL>;
  /** An access token, as if an account had been connected. */
  accessToken(account?: string): string;
  close(): Promise<void>;
}

const defaultAccount = 'ada@example.com';

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  if (/^application\/x-www-form-urlencoded/.test(request.headers['content-type'] ?? '')) {
    return Object.fromEntries(new URLSearchParams(text));
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A page that is to be followed by the browser, or a refusal that its owner sees. */
function authorize(query: URLSearchParams, fake: FakeApp, { pkce }: AppDialect): { status: number; location?: string } {
  const redirectUri = query.get('redirect_uri');
  const challenge = query.get('code_challenge');
  const isProven = pkce
    ? query.get('code_challenge_method') === 'S256' && /^[\w-]{43}$/.test(challenge ?? '')
    : challenge === null;
  const isRight =
    query.get('client_id') === fake.clientId &&
    (query.get('response_type') ?? 'code') === 'code' &&
    query.get('state') !== null &&
    (query.get('scope') ?? '') !== '';
  if (!isRight || !isProven || redirectUri === null) return { status: 400 };
  const back = new URL(redirectUri);
  back.searchParams.set('state', query.get('state')!);
  if (query.get('test_deny')) back.searchParams.set('error', 'access_denied');
  else {
    const account = query.get('test_account') ?? defaultAccount;
    const scope = query.get('test_scope') ?? query.get('scope')!;
    back.searchParams.set('code', fake.grants.issueCode({ account, redirectUri, challenge, scope }));
  }
  return { status: 302, location: back.href };
}

/** Does the work, and shows it as configured. */
async function act(
  behaviour: AppBehaviour | undefined,
  request: AppRequest,
  response: ServerResponse,
  work: () => WireAnswer,
): Promise<void> {
  if (behaviour === 'silence') return;
  if (behaviour === 'hang up') return void response.destroy();
  if (typeof behaviour === 'object' && 'fail' in behaviour) return write(response, behaviour.fail);
  if (typeof behaviour === 'object') await sleep(behaviour.after);
  const answer = work();
  request.worked = true;
  if (behaviour === 'lose the answer') return void response.destroy();
  if (behaviour === 'page') {
    return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Please wait</html>');
  }
  if (behaviour === 'truncate') {
    const json = JSON.stringify(answer.body ?? {});
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    return void response.end(json.slice(0, json.length / 2));
  }
  if (behaviour === 'deep') {
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`);
  }
  if (behaviour === 'drip') {
    response.writeHead(200, { 'content-type': 'application/json' });
    const drip = setInterval(() => response.write(' '), 50);
    return void response.on('close', () => clearInterval(drip));
  }
  if (behaviour !== 'endless') return answer.body === undefined ? empty(response, answer) : write(response, answer);
  pour(response);
}

const empty = (response: ServerResponse, { status, headers }: WireAnswer) =>
  void response.writeHead(status, headers ?? {}).end();

/** A provider with an authorization server and an API, on a free loopback port. */
export async function startFakeApp(dialectAt: (origin: string) => AppDialect): Promise<FakeApp> {
  const journal: AppRequest[] = [];
  let script: AppBehaviour[] = [];
  let tokenScript: AppBehaviour[] = [];
  let otherwise: AppBehaviour | undefined;

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams: query } = new URL(message.url ?? '/', origin);
    const { method = '', headers } = message;
    const body = method === 'GET' ? undefined : await bodyOf(message);
    const endpoint =
      (['authorize', 'token', 'revoke'] as const).find((name) => dialect.paths?.[name] === path) ?? 'api';
    const token = (dialect.tokenOf ?? bearer)(headers);
    const account = dialect.keys?.[token ?? ''] ?? fake.grants.accountOf(token);
    const request: AppRequest = { endpoint, method, path, query, headers, body, worked: false };
    if (account !== undefined) request.account = account;
    journal.push(request);
    if (endpoint === 'authorize') {
      const { status, location } = authorize(query, fake, dialect);
      return void response.writeHead(status, location === undefined ? {} : { location }).end();
    }
    if (endpoint === 'api') {
      const behaviour = script.shift() ?? otherwise;
      if (account === undefined) return write(response, dialect.refused(request));
      return act(behaviour, request, response, () => dialect.answer(request, account));
    }
    const form = (body ?? {}) as Record<string, string>;
    await act(tokenScript.shift(), request, response, () => {
      try {
        if (endpoint === 'revoke') {
          const isKnown = fake.grants.revoke(form.token ?? '');
          return { status: isKnown ? 200 : 400, body: (isKnown && dialect.revoked) || {} };
        }
        const answer = tokenAnswer(fake, form) as Json;
        const granting = fake.grants.accountOf(String(answer.access_token))!;
        return { status: 200, body: dialect.tokenAnswer?.(answer, granting) ?? answer };
      } catch (error) {
        if (!(error instanceof GrantError)) throw error;
        const { code } = error;
        const status = code === 'invalid_client' ? 401 : 400;
        return dialect.tokenError?.(code, form) ?? { status, body: { error: code, error_description: 'Words.' } };
      }
    });
  }

  // A fake without an answer says so in its response, because an exception would not be seen.
  const server = createServer((message, response) => {
    handle(message, response).catch((error) => write(response, { status: 599, body: { error: String(error) } }));
  });
  server.listen(0, '127.0.0.1');
  // A test that fails before it closes its fakes still ends.
  server.unref();
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dialect = dialectAt(origin);
  const fake: FakeApp = {
    origin,
    clientId: 'client-of-atelier',
    clientSecret: 'secret-of-atelier',
    journal,
    grants: new Grants(dialect.rules),
    next: (...behaviours) => script.push(...behaviours),
    nextToken: (...behaviours) => tokenScript.push(...behaviours),
    always(behaviour) {
      otherwise = behaviour;
    },
    reset() {
      journal.length = 0;
      [script, tokenScript, otherwise] = [[], [], undefined];
    },
    consent: (authUrl, { account, deny, scope } = {}) =>
      openConsentPage(authUrl, { test_account: account, test_deny: deny ? '1' : undefined, test_scope: scope }),
    accessToken(account = defaultAccount) {
      const code = fake.grants.issueCode({ account, redirectUri: '', challenge: null, scope: 'all' });
      return String((fake.grants.exchange(code, '', null) as Json).access_token);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return fake;
}
