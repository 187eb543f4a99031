import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpServer } from '../loopback-server.ts';

type Json = Record<string, unknown>;

/** What a provider answers in place of what it should. */
export interface Misbehaviour {
  /** Changes the claims of the token, whose signature is right. */
  claims?: (usual: Json) => Json;
  userInfo?: (usual: Json) => Json;
  metadata?: (usual: Json) => Json;
  header?: Json;
  /** Signs with a key that the provider does not publish. */
  foreignKey?: boolean;
  /** By the path of an endpoint. */
  answers?: Record<string, 'huge' | 'deep' | 'silence' | 'garbage' | 'error'>;
}

export interface OidcProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  misbehave(how: Misbehaviour): void;
  /** Who signs in next. */
  person: { sub: string; email?: string; email_verified?: unknown; name?: string };
  /** What a browser does: it opens the address, the person agrees, and it is sent back with this query. */
  consent(authorizeUrl: string): string;
  /** Requests by path. */
  requests: string[];
  close(): Promise<void>;
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function jwt(header: Json, claims: Json, key: KeyObject): string {
  const content = `${encoded({ alg: 'RS256', typ: 'JWT', ...header })}.${encoded(claims)}`;
  return `${content}.${sign('RSA-SHA256', Buffer.from(content), key).toString('base64url')}`;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

/** An OpenID Connect provider on loopback that checks what a real one checks, and misbehaves when it is configured to. */
export async function startOidcProvider(): Promise<OidcProvider> {
  const [own, foreign] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 })) as [Keys, Keys];
  const [clientId, clientSecret] = ['atelier-client', 'a secret: with/odd characters'];
  const codes = new Map<string, { nonce: string; challenge: string; redirectUri: string; person: Json }>();
  const accessTokens = new Map<string, Json>();
  let how: Misbehaviour = {};

  const respond = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const broken: Record<string, (response: ServerResponse) => void> = {
    huge: (response) => respond(response, 200, `{"x":"${'x'.repeat(1_000_000)}"}`),
    deep: (response) => respond(response, 200, '['.repeat(50_000) + ']'.repeat(50_000)),
    silence: () => {},
    garbage: (response) => respond(response, 200, '<html>'),
    error: (response) => respond(response, 500, { error: 'server_error' }),
  };
  const exchange = (request: IncomingMessage, response: ServerResponse, form: URLSearchParams) => {
    const basic = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
    const [id = '', secret = ''] = basic.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    if (id !== clientId || secret !== clientSecret) return respond(response, 401, { error: 'invalid_client' });
    const code = form.get('code') ?? '';
    const begun = codes.get(code);
    codes.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!begun || begun.challenge !== challenge || begun.redirectUri !== form.get('redirect_uri')) {
      return respond(response, 400, { error: 'invalid_grant' });
    }
    const now = Math.floor(Date.now() / 1000);
    const usual = {
      iss: provider.issuer,
      aud: clientId,
      iat: now,
      exp: now + 300,
      nonce: begun.nonce,
      ...begun.person,
    };
    const claims = how.claims?.(usual) ?? usual;
    const accessToken = randomUUID();
    accessTokens.set(accessToken, begun.person);
    const idToken = jwt({ kid: 'own', ...how.header }, claims, how.foreignKey ? foreign.privateKey : own.privateKey);
    respond(response, 200, { access_token: accessToken, token_type: 'Bearer', expires_in: 300, id_token: idToken });
  };

  const server = await httpServer(async (request, response) => {
    const path = new URL(request.url!, provider.issuer).pathname;
    provider.requests.push(path);
    const form = new URLSearchParams(await readBody(request));
    const answer = how.answers?.[path];
    if (answer) return broken[answer]!(response);
    if (path === '/.well-known/openid-configuration') {
      const usual = {
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        userinfo_endpoint: `${provider.issuer}/userinfo`,
        jwks_uri: `${provider.issuer}/jwks`,
        id_token_signing_alg_values_supported: ['RS256'],
      };
      return respond(response, 200, how.metadata?.(usual) ?? usual);
    }
    if (path === '/jwks') {
      const key = { ...own.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'RS256', use: 'sig' };
      return respond(response, 200, { keys: [key] });
    }
    if (path === '/authorize') {
      // The person agrees at once.
      const url = new URL(request.url!, provider.issuer);
      const location = `${url.searchParams.get('redirect_uri')}${provider.consent(url.href)}`;
      response.writeHead(302, { location }).end();
      return;
    }
    if (path === '/token') return exchange(request, response, form);
    if (path === '/userinfo') {
      const person = accessTokens.get((request.headers.authorization ?? '').replace(/^Bearer /, ''));
      if (!person) return respond(response, 401, {});
      return respond(response, 200, how.userInfo?.(person) ?? person);
    }
    respond(response, 404, {});
  });
  const provider: OidcProvider = {
    issuer: `http://127.0.0.1:${server.port}`,
    clientId,
    clientSecret,
    requests: [],
    person: { sub: 'somebody' },
    misbehave(next) {
      how = next;
    },
    consent(authorizeUrl) {
      const { origin, pathname, searchParams: asked } = new URL(authorizeUrl);
      if (origin + pathname !== `${provider.issuer}/authorize`) throw new Error(`Not our endpoint: ${authorizeUrl}`);
      const right = { response_type: 'code', client_id: clientId, code_challenge_method: 'S256' };
      for (const [name, value] of Object.entries(right)) {
        if (asked.get(name) !== value) throw new Error(`${name} is ${asked.get(name)}`);
      }
      if (!asked.get('scope')?.split(' ').includes('openid')) throw new Error('The scope lacks openid.');
      const code = randomUUID();
      const of = (name: string) => asked.get(name) ?? '';
      const redirectUri = of('redirect_uri');
      codes.set(code, {
        nonce: of('nonce'),
        challenge: of('code_challenge'),
        redirectUri,
        person: { ...provider.person },
      });
      return `?${new URLSearchParams({ code, state: of('state'), iss: provider.issuer })}`;
    },
    close: () => server.close(),
  };
  return provider;
}

type Keys = { publicKey: KeyObject; privateKey: KeyObject };
