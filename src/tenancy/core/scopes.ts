/** What a key may do. A key has all of them unless it was made with fewer. */
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
