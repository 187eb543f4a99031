import type { ApiClient } from '../api-client.ts';
import { until } from '../until.ts';

/** Goes where a browser is sent, at the process that it would reach by PUBLIC_URL. */
export function visit(address: string | URL, base: string, headers: Record<string, string> = {}): Promise<Response> {
  const { pathname, search } = new URL(address);
  return fetch(new URL(pathname + search, base), { redirect: 'manual', headers });
}

/** Connects an integration with a test key, as the owner of an account does. */
export async function connectInSandbox(client: ApiClient, base: string, integrationId: string): Promise<void> {
  const answered = await until('the account is connected or refused', async () => {
    const { status, body } = await client.post(`/api/v1/integrations/${integrationId}/connect`);
    // On a busy machine a request may find no connection in time: its caller begins again.
    if (status === 503) return false;
    const sent = await visit(body.data.authUrl, base);
    if (sent.status === 503) return false;
    const back = await visit(sent.headers.get('location')!, base);
    return back.status !== 503 && back;
  });
  if (answered.status !== 200) throw new Error(`The callback answered ${answered.status}.`);
}
