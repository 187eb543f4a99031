/**
 * The reason why access to an account ended, or is not available now. Messages contain no token and no text of a
 * provider.
 */
export class AuthorizationFailure extends Error {
  override name = 'AuthorizationFailure';
  /** A code of OAuth where the provider gave one, such as `invalid_grant`; otherwise what failed. */
  readonly code: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** How long the provider asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: string,
    message: string,
    { retryable, retryAfterMs, cause }: { retryable: boolean; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause });
    this.code = code;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The grant has ended: its owner has to connect the account again. */
export class AuthExpired extends Error {
  override name = 'AuthExpired';

  constructor() {
    super('The provider no longer accepts this connection. Connect the account again.');
  }
}

/** The connection no longer exists. */
export class ConnectionMissing extends Error {
  override name = 'ConnectionMissing';

  constructor() {
    super('The connection was removed.');
  }
}

/** Thrown by who uses an access token when the provider refuses it (HTTP 401): it is then refreshed, once. */
export class AccessTokenRefused extends Error {
  override name = 'AccessTokenRefused';

  constructor() {
    super('The provider refused the access token.');
  }
}
