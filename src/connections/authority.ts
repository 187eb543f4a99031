import { AuthorizationFailure } from './failures.ts';

/** The tokens of a token endpoint. */
export interface Tokens {
  accessToken: string;
  /** Null where none was given: a refresh without one leaves the one before in force. */
  refreshToken: string | null;
  /** Null where the provider does not say. */
  expiresAt: Date | null;
  /**
   * The whole answer, for the provider's additions to it, such as the address of an account's server. It is never
   * stored.
   */
  answer: Readonly<Record<string, unknown>>;
}

export interface AuthorizationRequest {
  /** 43 characters of base64url. */
  state: string;
  /** The code verifier of PKCE (RFC 7636). */
  verifier: string;
  /** Our callback. */
  redirectUri: string;
  /** Which account is meant. */
  loginHint: string | undefined;
  /** The requested scopes; undefined for those of the provider's declaration. */
  scopes?: readonly string[] | undefined;
}

export interface AuthorizationAnswer {
  /** The query of the callback, with the state that was sent. */
  query: URLSearchParams;
  state: string;
  verifier: string;
  redirectUri: string;
  /** The requested scopes. */
  scopes?: readonly string[] | undefined;
}

/** Who grants access to accounts: a provider, or the sandbox. */
export interface Authority {
  /** Whether revoking one token ends all access of our client to the account, whichever tenant connected it. */
  readonly revokesAccount: boolean;
  /** Which of its tokens can be revoked. */
  readonly revokes: 'access' | 'refresh';
  /** The address at which the owner of the account is asked. */
  authorizeUrl(request: AuthorizationRequest): string;
  /**
   * Gets tokens for the code of an answer, once: a code whose exchange fails is lost.
   * @throws AuthorizationFailure; its code is `access_denied` when the owner of the account said no
   */
  exchange(answer: AuthorizationAnswer): Promise<Tokens>;
  /** @throws AuthorizationFailure; `isRefusal` is true when the grant has ended */
  refresh(refreshToken: string): Promise<Tokens>;
  /** Ends the grant at the provider, if the provider supports that. @throws AuthorizationFailure */
  revoke(token: string): Promise<void>;
}

/** Errors of a token endpoint after which the user must grant access again. RFC 6749, 5.2, and OpenID Connect Core, 3.1.2.6. */
const refusals = ['invalid_grant', 'interaction_required', 'consent_required', 'login_required'];

/** Whether a refresh failed because the grant has ended, and not because of our credentials or the network. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof AuthorizationFailure && refusals.includes(error.code);
