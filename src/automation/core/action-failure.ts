/** Why a step of type `action` failed. They are published as codes of the step. */
export const actionErrorCodes = ['action_failed', 'not_connected', 'auth_expired', 'rate_limited'] as const;
export type ActionErrorCode = (typeof actionErrorCodes)[number];

/** An action that was not performed, or whose outcome is unknown. The message may be shown to the tenant. */
export class ActionFailure extends Error {
  override name = 'ActionFailure';
  readonly code: ActionErrorCode;
  /** Of `rate_limited`: when it may be tried again. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ActionErrorCode, message: string, retryAfterMs?: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}
