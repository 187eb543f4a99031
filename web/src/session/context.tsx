import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { type Client, openClient } from '../api/client.ts';
import { type Account, type Environment, includesRole, type Membership, type Role } from './session.ts';

export interface Session {
  account: Account;
  organization: Membership;
  environment: Environment;
  /** Calls the API as this person, for this organization and environment. */
  api: Client;
  /** Key of a cached answer: answers of organizations and environments are kept apart. */
  key(...parts: unknown[]): unknown[];
  /** Whether this person may do what needs the role. */
  may(role: Role): boolean;
}

const Context = createContext<Session | null>(null);

export function SessionProvider({
  account,
  organization,
  environment,
  children,
}: Pick<Session, 'account' | 'organization' | 'environment'> & { children: ReactNode }) {
  const session = useMemo<Session>(
    () => ({
      account,
      organization,
      environment,
      api: openClient(organization.id, environment),
      key: (...parts) => [organization.id, environment, ...parts],
      may: (role) => includesRole(organization.role, role),
    }),
    [account, organization, environment],
  );
  return <Context value={session}>{children}</Context>;
}

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error('No user has signed in.');
  return session;
}
