import { z } from 'zod';
import { AccessTokenRefused, AuthExpired } from '../../src/connections/failures.ts';
import type { Account, ProviderCall } from '../../src/integrations/calls/provider-call.ts';
import { providerCall } from '../../src/integrations/calls/provider-http.ts';
import type { Integration, IntegrationClient } from '../../src/integrations/definition/integration.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { egressRules, providerRules } from '../../src/platform/egress/egress-destination.ts';
import type { FakeApp } from './oauth/oauth-app.ts';

type Rules = Parameters<typeof egressRules>[0];

/** An account of a fake that is connected: without a database, by the calls that the product makes. */
export interface ConnectedAccount {
  client: IntegrationClient;
  account: Account;
  call: ProviderCall;
  /** Access tokens that it asked for. */
  refreshes: number;
  close(): Promise<void>;
}

/** @param settings the integration's environment variables, but for the client's @param allowed of the tenants' guard */
export async function connectAccount(
  integration: Integration,
  fake: FakeApp,
  settings: Record<string, string>,
  { prefix, allowed = [] }: { prefix: string; allowed?: string[] },
): Promise<ConnectedAccount> {
  const env = z.object(integration.settings).parse({
    [`${prefix}_CLIENT_ID`]: fake.clientId,
    [`${prefix}_CLIENT_SECRET`]: fake.clientSecret,
    ...settings,
  });
  const client = integration.client(env as never);
  if (client?.consent.kind !== 'oauth') throw new Error(`${integration.id} has no client.`);
  const { provider } = client.consent;
  const rules: Rules = {
    NODE_ENV: 'test',
    EGRESS_PORTS: undefined,
    EGRESS_ALLOW_CIDRS: allowed,
    EGRESS_DENY_CIDRS: [],
  };
  const egress = { named: new Egress(providerRules(rules)), guarded: new Egress(egressRules(rules)) };

  const ask = async (form: Record<string, string>) => {
    const body = new URLSearchParams({ ...form, client_id: fake.clientId, client_secret: fake.clientSecret });
    const answer = await fetch(provider.tokenUrl, { method: 'POST', body });
    if (!answer.ok) throw new AuthExpired();
    return (await answer.json()) as Record<string, string>;
  };
  const redirectUri = 'http://127.0.0.1:9/callback';
  const verifier = 'v'.repeat(43);
  const challenge = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(verifier))).toString('base64url');
  const url = new URL(provider.authorizeUrl);
  const asked = { client_id: fake.clientId, response_type: 'code', redirect_uri: redirectUri, state: 'some' };
  const proof = { scope: provider.scopes.join(' '), code_challenge: challenge, code_challenge_method: 'S256' };
  for (const [name, value] of Object.entries({ ...asked, ...proof })) url.searchParams.set(name, value);
  const back = await fake.consent(url.href);
  const code = back.searchParams.get('code') ?? '';
  const shown = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  let tokens = await ask(shown);

  const open = (account: Account) =>
    providerCall({
      integration,
      client,
      account,
      egress,
      timeoutMs: 5_000,
      idempotencyKey: 'key',
      signal: new AbortController().signal,
      async access(work) {
        try {
          return await work(tokens.access_token!);
        } catch (error) {
          if (!(error instanceof AccessTokenRefused)) throw error;
          connected.refreshes += 1;
          tokens = { ...tokens, ...(await ask({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token! })) };
          return work(tokens.access_token!).catch((again) => {
            throw again instanceof AccessTokenRefused ? new AuthExpired() : again;
          });
        }
      },
    });
  const account = await integration.accountOf(tokens, open({ id: '', name: '', details: {} }));
  const connected: ConnectedAccount = {
    client,
    account,
    call: open(account),
    refreshes: 0,
    async close() {
      await Promise.all([egress.named.close(), egress.guarded.close()]);
    },
  };
  return connected;
}

/** Does an action as the product does: checks the payload, does it, and checks the answer. */
export async function performChecked(
  { actions }: Integration,
  actionId: string,
  payload: unknown,
  call: ProviderCall,
): Promise<unknown> {
  const action = actions[actionId]!;
  return action.answer.parse(await action.perform(action.payload.parse(payload), call));
}
