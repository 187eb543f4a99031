export const roles = ['owner', 'admin', 'member', 'viewer'] as const;
/** The role of a person in an organization. Each role has the rights of those after it. */
export type Role = (typeof roles)[number];
