import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { GrantError, type GrantRules, Grants } from './oauth-grants.ts';
import { openConsentPage, pour, tokenAnswer } from './oauth-wire.ts';

/** A request that came in, and whether its work was done. */
export interface OAuthRequest {
  endpoint: 'authorize' | 'token' | 'revoke' | 'api';
  form: Record<string, string>;
  worked: boolean;
  /** When it came, in ms since the epoch. */
  at: number;
}

/** What a token or revocation endpoint does with a request. */
export type OAuthBehaviour =
  | { fail: { status: number; headers?: Record<string, string>; body?: unknown } }
  /** Answers after this many milliseconds, or after something else. */
  | { after: number | Promise<unknown> }
  /** Takes the request and says nothing for ever. */
  | 'silence'
  /** Ends the connection before anything was done. */
  | 'hang up'
  /** Does the work, and ends the connection. */
  | 'lose the answer'
  /** Does the work, and says something else. */
  | 'garbage'
  /** Does the work, and its answer does not end. */
  | 'flood'
  /** Does the work, and gives a token that cannot stand in a header. */
  | 'odd token';

/** What the owner of an account does. */
export interface Consent {
  account?: string;
  deny?: boolean;
  /** The name that the provider gives itself. */
  iss?: string;
  /** What is granted, where it is not everything. */
  scope?: string;
}

export interface FakeOAuth {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  authorizeUrl: string;
  tokenUrl: string;
  revokeUrl: string;
  clientId: string;
  clientSecret: string;
  journal: OAuthRequest[];
  grants: Grants;
  /** What it does with the next requests to a token or revocation endpoint. */
  next(...behaviours: OAuthBehaviour[]): void;
  /** What the owner of an account does at an `authUrl`. @returns the address to which the browser is sent */
  consent(authUrl: string, options?: Consent): Promise<URL>;
  close(): Promise<void>;
}

export interface FakeOAuthOptions extends Partial<GrantRules> {
  /** Google names itself in its answers (RFC 9207), lets a refresh token live on, and revokes. */
  like: 'google' | 'microsoft';
  /** Further paths, for who has an access token. @returns undefined for an unknown one */
  api?(path: string, account: string): unknown;
}

const read = async (request: IncomingMessage): Promise<Record<string, string>> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
};

const write = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** Reads the client from the header Authorization (RFC 6749, 2.3.1). */
function clientOf({ headers }: IncomingMessage): {
  client_id?: string;
  client_secret?: string;
  shown?: 'in the header';
} {
  const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  if (basic === undefined) return {};
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent);
  return { client_id: id, client_secret: secret, shown: 'in the header' };
}

/** The account's page of the provider: the query says what its owner does. */
function authorize(url: URL, fake: FakeOAuth, like: FakeOAuthOptions['like']): { status: number; location?: string } {
  const of = (name: string) => url.searchParams.get(name);
  const redirectUri = of('redirect_uri');
  const isRight =
    of('client_id') === fake.clientId &&
    of('response_type') === 'code' &&
    of('code_challenge_method') === 'S256' &&
    /^[\w-]{43}$/.test(of('code_challenge') ?? '') &&
    redirectUri !== null &&
    of('state') !== null &&
    (of('scope') ?? '') !== '';
  if (!isRight || (like === 'google' && of('access_type') !== 'offline')) return { status: 400 };
  const back = new URL(redirectUri);
  if (like === 'google') back.searchParams.set('iss', of('test_iss') ?? fake.origin);
  back.searchParams.set('state', of('state')!);
  if (of('test_deny')) back.searchParams.set('error', 'access_denied');
  else {
    const account = of('test_account') ?? of('login_hint') ?? 'ada@example.com';
    const grant = { account, redirectUri, challenge: of('code_challenge'), scope: of('test_scope') ?? of('scope')! };
    back.searchParams.set('code', fake.grants.issueCode(grant));
  }
  return { status: 302, location: back.href };
}

function revocationAnswer({ grants }: FakeOAuth, form: Record<string, string>): object {
  // Google wants nothing but the token.
  if (Object.keys(form).join() !== 'token') throw new GrantError('invalid_request');
  if (!grants.revoke(form.token!)) throw new GrantError('invalid_token');
  return {};
}

/** An authorization server on a free loopback port, in the wire format of Google or Microsoft. */
export async function startFakeOAuth({ like, api, ...rules }: FakeOAuthOptions): Promise<FakeOAuth> {
  const script: OAuthBehaviour[] = [];
  const journal: OAuthRequest[] = [];

  async function act(response: ServerResponse, request: OAuthRequest, answer: () => object): Promise<void> {
    const behaviour = script.shift();
    if (behaviour === 'silence') return;
    if (behaviour === 'hang up') return void response.destroy();
    if (typeof behaviour === 'object' && 'fail' in behaviour) {
      const { status, body = {}, headers } = behaviour.fail;
      return void write(response, status, body, headers);
    }
    if (typeof behaviour === 'object') {
      await (typeof behaviour.after === 'number' ? sleep(behaviour.after) : behaviour.after);
    }
    const body = answer();
    request.worked = true;
    if (behaviour === 'lose the answer') return void response.destroy();
    if (behaviour === 'garbage') {
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Please wait</html>');
    }
    if (behaviour === 'odd token') return void write(response, 200, { ...body, access_token: 'a\r\nx-other: b' });
    if (behaviour !== 'flood') return void write(response, 200, body);
    pour(response);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const endpoint = (['authorize', 'token', 'revoke'] as const).find((name) => url.pathname === `/oauth/${name}`);
    const sent = request.method === 'POST' ? await read(request) : Object.fromEntries(url.searchParams);
    const form = { ...sent, ...clientOf(request) };
    const received: OAuthRequest = { endpoint: endpoint ?? 'api', form, worked: false, at: Date.now() };
    journal.push(received);
    if (endpoint === 'authorize') {
      const { status, location } = authorize(url, fake, like);
      return void response.writeHead(status, location === undefined ? {} : { location }).end();
    }
    if (endpoint === undefined) {
      const account = fake.grants.accountOf(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]);
      if (account === undefined) return void write(response, 401, { error: { code: 401, message: 'Invalid' } });
      const found = api?.(url.pathname, account);
      return void write(response, found === undefined ? 404 : 200, found ?? {});
    }
    try {
      await act(response, received, () => (endpoint === 'token' ? tokenAnswer : revocationAnswer)(fake, form));
    } catch (error) {
      if (!(error instanceof GrantError)) throw error;
      write(response, error.code === 'invalid_client' ? 401 : 400, { error: error.code, error_description: 'Words.' });
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => write(response, 599, { error: String(error) }));
  });
  server.listen(0, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rotates = like === 'microsoft';
  const fake: FakeOAuth = {
    origin,
    authorizeUrl: `${origin}/oauth/authorize`,
    tokenUrl: `${origin}/oauth/token`,
    revokeUrl: `${origin}/oauth/revoke`,
    clientId: `client-of-${like}`,
    clientSecret: `secret-of-${like}`,
    journal,
    grants: new Grants({ rotates, revokesAccount: !rotates, detectsReuse: false, lifeSeconds: 3_600, ...rules }),
    next: (...behaviours) => script.push(...behaviours),
    consent: (authUrl, { account, deny, iss, scope } = {}) =>
      openConsentPage(authUrl, {
        test_account: account,
        test_deny: deny ? '1' : undefined,
        test_scope: scope,
        test_iss: iss,
      }),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return fake;
}
