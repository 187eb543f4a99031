/** Why a step of type `action` failed. They are published as codes of the step. */
export const actionErrorCodes = ['action_failed', 'not_connected', 'auth_expired', 'rate_limited'] as const;
export type ActionErrorCode = (typeof actionErrorCodes)[number];
