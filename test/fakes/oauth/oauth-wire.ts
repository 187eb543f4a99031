import type { ServerResponse } from 'node:http';
import { GrantError, type Grants } from './oauth-grants.ts';

/** An authorization server with one client. */
interface AuthorizationServer {
  clientId: string;
  clientSecret: string;
  grants: Grants;
}

/** What a token endpoint answers to a form (RFC 6749, 4.1.3 and 6). @throws GrantError */
export function tokenAnswer(
  { clientId, clientSecret, grants }: AuthorizationServer,
  form: Record<string, string>,
): object {
  if (form.client_id !== clientId || form.client_secret !== clientSecret) throw new GrantError('invalid_client');
  if (form.grant_type === 'refresh_token') return grants.refresh(form.refresh_token ?? '');
  if (form.grant_type !== 'authorization_code') throw new GrantError('unsupported_grant_type');
  return grants.exchange(form.code ?? '', form.redirect_uri ?? '', form.code_verifier ?? null);
}

/** Answers with JSON that does not end. */
export function pour(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const piece = Buffer.alloc(64 * 1024, ' ');
  const more = () => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

/** Opens the page of a provider as the owner of an account. @returns the address to which the browser is sent */
export async function openConsentPage(authUrl: string, does: Record<string, string | undefined>): Promise<URL> {
  const url = new URL(authUrl);
  for (const [name, value] of Object.entries(does)) if (value !== undefined) url.searchParams.set(name, value);
  const answer = await fetch(url, { redirect: 'manual' });
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`The provider answered ${answer.status}.`);
  return new URL(location);
}
