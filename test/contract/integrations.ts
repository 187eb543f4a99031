import type { Caller } from './caller.ts';

/** Connecting integrations in the sandbox. */
export async function recordIntegrations({ ask }: Caller): Promise<void> {
  const [connect, remove] = [
    'POST /integrations/{integrationId}/connect',
    'DELETE /integrations/{integrationId}/connection',
  ];
  const tested = 'POST /integrations/{integrationId}/test';
  await ask({ endpoint: 'GET /integrations' });
  const ids = { integrationId: 'slack' };
  const unknown = { integrationId: 'nothing' };
  await ask({ endpoint: connect, what: 'with wrong scopes', ids, body: { scopes: ['chat:write', 'nothing'] } });
  await ask({ endpoint: connect, what: 'to an unknown address', ids, body: { redirectUrl: 'https://evil.example/' } });
  await ask({ endpoint: connect, what: 'with many things wrong', ids, body: { redirectUrl: 5, scopes: [] } });
  await ask({ endpoint: connect, ids });
  for (const endpoint of [connect, tested, remove]) await ask({ endpoint, what: 'of nothing', ids: unknown });
  for (const endpoint of [tested, remove]) await ask({ endpoint, what: 'not connected', ids });
}
