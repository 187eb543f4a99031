import { Atelier } from '../../../sdk/typescript/src/index.ts';
import type { Account } from '../session/session.ts';

const accounts = new Atelier({ baseUrl: location.origin, headers: { 'X-Atelier-CSRF': '1' } });

/** The signed-in person. @throws AuthenticationError without a session */
export const readAccount = async (): Promise<Account> =>
  await (accounts as unknown as { account: { get(): Promise<Account> } }).account.get();

/** How the person signs in at the OpenID provider. */
export const readIdentities = () => accounts.account.identities.list().page();

/** @throws AtelierError where the person could sign in by nothing else */
export const unlinkIdentity = (id: string) => accounts.account.identities.delete(id);

/** @throws Error where the session may go on */
export async function signOut(): Promise<void> {
  const { ok, status } = await fetch('/api/auth/sign-out', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Atelier-CSRF': '1' },
    body: '{}',
  });
  if (!ok && status !== 401) throw new Error('You are still signed in: the service did not end the session.');
}

/** Where a person signs in; `next` is the page that they come back to. */
export const signInAddress = (next: string): string => `/api/auth/sign-in?next=${encodeURIComponent(next)}`;
