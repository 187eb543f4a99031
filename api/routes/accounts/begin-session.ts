import { addressHeader } from '../../../src/accounts/core/paths.ts';
import type { AccountServices } from '../../../src/accounts/index.ts';
import type { ApiContext } from '../../context.ts';
import { limitedRange } from '../../requests/client-address.ts';

/** What better-auth learns of a request of our pages. */
export function headersFor(c: ApiContext, { withCookies }: { withCookies: boolean }): Headers {
  const headers = new Headers({ [addressHeader]: c.get('clientAddress')() });
  const agent = c.req.header('user-agent');
  if (agent !== undefined) headers.set('user-agent', agent.slice(0, 500));
  const cookie = c.req.header('cookie');
  if (withCookies && cookie !== undefined) headers.set('cookie', cookie);
  return headers;
}

export function takeCookies(c: ApiContext, { headers }: Response): void {
  for (const cookie of headers.getSetCookie()) c.header('Set-Cookie', cookie, { append: true });
}

/** Begins a new session for a person who has proved an address. */
export async function beginSession(
  c: ApiContext,
  accounts: AccountServices['accounts'],
  userId: string,
): Promise<void> {
  const auth = await accounts.auth.get();
  const headers = headersFor(c, { withCookies: false });
  takeCookies(c, await auth.api.beginSession({ body: { userId }, headers, asResponse: true }));
}

/** The address of a client as limits know it. */
export const addressOf = (c: ApiContext): string => limitedRange(c.get('clientAddress')());
