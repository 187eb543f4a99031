/** The signed-in person, and the organizations of the person. */
export interface Account {
  user: { id: string; name: string; email: string };
  organizations: Membership[];
  /** The address of the namespace in Temporal's web UI, for operators of the installation alone. */
  temporalUrl: string | null;
}

export type Role = 'owner' | 'admin' | 'member' | 'viewer';

export interface Membership {
  id: string;
  name: string;
  slug: string;
  role: Role;
}

export type Environment = 'test' | 'live';

const ranks: Record<Role, number> = { viewer: 0, member: 1, admin: 2, owner: 3 };

/** Whether a role includes all rights of `needed`. Pages omit actions without the right. */
export const includesRole = (role: Role, needed: Role): boolean => ranks[role] >= ranks[needed];

const storageKey = 'atelier.organization';

/** The organization that was used last, or the first one. */
export function chosenOrganization(organizations: readonly Membership[]): Membership | undefined {
  const last = localStorage.getItem(storageKey);
  return organizations.find(({ id }) => id === last) ?? organizations[0];
}

export const rememberOrganization = (id: string): void => localStorage.setItem(storageKey, id);
