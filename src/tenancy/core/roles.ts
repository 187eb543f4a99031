export const roles = ['owner', 'admin', 'member', 'viewer'] as const;
/** What a person is in an organization. Each role may what those after it may. */
export type Role = (typeof roles)[number];
