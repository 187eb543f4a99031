/** The permissions of keys. A key has all of them by default. */
export const keyScopes = [
  'workflows:read',
  'workflows:write',
  'runs:read',
  'runs:execute',
  'studio',
  'chat',
  'voice',
  'integrations',
  'scheduling',
  'webhooks',
  'keys',
] as const;

export type KeyScope = (typeof keyScopes)[number];
