import { type Role, roles } from '../../tenancy/core/roles.ts';

export const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text);

/** Whether a role may what `required` may. */
export const isAtLeast = (role: Role, required: Role): boolean => roles.indexOf(role) <= roles.indexOf(required);

/** The role that may change the resources of a scope of keys. */
export const roleForScope = (scope: string): Role => (scope === 'keys' ? 'admin' : 'member');
