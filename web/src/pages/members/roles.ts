import type { Role } from '../../session/session.ts';

/** @returns the roles that a person with `role` may give */
export const rolesFor = (role: Role): Role[] =>
  role === 'owner' ? ['owner', 'admin', 'member', 'viewer'] : ['admin', 'member', 'viewer'];
