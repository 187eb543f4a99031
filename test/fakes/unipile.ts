import { createHmac, randomUUID } from 'node:crypto';
import { type AppRequest, type FakeApp, startFakeApp } from './oauth/oauth-app.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** An error as Unipile words it (RFC 7807). */
export const unipileError = (status: number, type: string, headers?: Record<string, string>): WireAnswer => ({
  status,
  ...(headers && { headers }),
  body: { object: 'Error', type, status, title: 'Words', detail: 'More words.', req_id: 'req-1' },
});
export const unipileRateLimit = (seconds: number) =>
  unipileError(429, 'provider/too_many_requests', { 'retry-after': String(seconds) });

export interface FakeUnipile extends FakeApp {
  apiKey: string;
  webhookSecret: string;
  /** Linked accounts, by id. */
  accounts: Map<string, { state: string; provider: string }>;
  /** Invitations that were sent. */
  invitations: Json[];
  /** What a person does at a hosted link. @returns the address to which the browser is sent */
  link(authUrl: string, options?: { accountId?: string; deny?: boolean }): Promise<URL>;
  /** Sends an event as Unipile would. */
  send(
    eventsUrl: string,
    event: Json,
    options?: { secret?: string; signed?: boolean; now?: number },
  ): Promise<Response>;
}

/** The header of a signed event. */
export function unipileSignature(body: string, secret: string, now = Date.now()): Record<string, string> {
  const timestamp = Math.floor(now / 1_000);
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'unipile-signature': `t=${timestamp},v0=${signature}` };
}

/** Unipile: hosted links, accounts, LinkedIn profiles and invitations, and events. */
export async function startFakeUnipile(): Promise<FakeUnipile> {
  const accounts: FakeUnipile['accounts'] = new Map();
  const invitations: Json[] = [];
  const links = new Map<string, { redirectUri: string; state: string }>();
  const [apiKey, webhookSecret] = ['key-of-unipile', 'webhook-secret-of-unipile'];

  function users(accountId: string, rest: string, { method, body }: AppRequest): WireAnswer | undefined {
    if (!accounts.has(accountId)) return unipileError(404, 'api/resource_not_found');
    if (rest === 'me/relation-requests' && method === 'POST') {
      const { user_id: userId, message } = (body ?? {}) as Json;
      if (!String(userId).startsWith('ACo')) return unipileError(422, 'provider/unprocessable_entity');
      if (typeof message === 'string' && message.length > 300) return unipileError(400, 'api/invalid_parameters');
      if (invitations.some((one) => one.userId === userId)) return unipileError(409, 'provider/conflict');
      const id = `invitation-${invitations.length + 1}`;
      invitations.push({ id, accountId, userId, message });
      return { status: 201, body: { object: 'RelationRequest', request_id: id } };
    }
    if (method !== 'GET' || rest.includes('/')) return undefined;
    if (rest === 'nobody') return unipileError(404, 'provider/resource_not_found');
    const name = decodeURIComponent(rest);
    const [first_name, last_name] = ['Ada', 'Lovelace'];
    const shown = { public_identifier: name, first_name, last_name, headline: 'Mathematician' };
    return { status: 200, body: { object: 'UserProfile', id: `ACoAA${name}`, provider: 'linkedin', ...shown } };
  }

  function work(request: AppRequest): WireAnswer | undefined {
    const { method, path, body } = request;
    if (method === 'POST' && path === '/v2/auth/link') {
      const { redirect_uri: redirectUri, state, providers, expires_on: expiresOn } = (body ?? {}) as Json;
      const isRight = typeof redirectUri === 'string' && typeof state === 'string' && Array.isArray(providers);
      if (!isRight || !(Date.parse(String(expiresOn)) > Date.now())) return unipileError(400, 'api/invalid_parameters');
      const id = randomUUID();
      links.set(id, { redirectUri, state });
      return { status: 201, body: { object: 'AuthLink', link: `${fake.origin}/hosted/${id}` } };
    }
    const [, accountId] = /^\/v2\/accounts\/([^/]+)$/.exec(path) ?? [];
    if (accountId !== undefined) {
      const account = accounts.get(accountId);
      if (!account) return unipileError(404, 'api/resource_not_found');
      if (method === 'DELETE') accounts.delete(accountId);
      const shown = { user_id: 'ACoAAme', name: 'Grace Hopper', status: 'running', is_locked: false, ...account };
      return { status: 200, body: { object: 'Account', id: accountId, ...shown } };
    }
    const [, owner, rest] = /^\/v2\/([^/]+)\/users\/(.+)$/.exec(path) ?? [];
    return owner === undefined ? undefined : users(owner, rest!, request);
  }

  const fake = await startFakeApp(() => ({
    tokenOf: (headers) => headers['x-api-key'] as string | undefined,
    keys: { [apiKey]: 'workspace' },
    pkce: false,
    rules: { rotates: false, revokesAccount: false, detectsReuse: false, lifeSeconds: 0 },
    refused: () => unipileError(401, 'provider/invalid_authorization'),
    answer: (request) => work(request) ?? unipileError(404, 'api/resource_not_found'),
  }));
  return Object.assign(fake, {
    apiKey,
    webhookSecret,
    accounts,
    invitations,
    async link(authUrl: string, { accountId = `acc_${randomUUID()}`, deny = false } = {}) {
      const link = links.get(authUrl.slice(`${fake.origin}/hosted/`.length));
      if (!link) throw new Error('There is no such link.');
      const { redirectUri, state } = link;
      const back = new URL(redirectUri);
      if (deny) back.searchParams.set('error_type', 'api/canceled');
      else {
        accounts.set(accountId, { state, provider: 'linkedin' });
        back.searchParams.set('account_id', accountId);
      }
      return back;
    },
    send(eventsUrl: string, event: Json, { secret = webhookSecret, signed = false, now = Date.now() } = {}) {
      const body = JSON.stringify(event);
      const proof = signed ? unipileSignature(body, secret, now) : { 'unipile-auth': secret };
      return fetch(eventsUrl, { method: 'POST', headers: { 'content-type': 'application/json', ...proof }, body });
    },
  });
}
