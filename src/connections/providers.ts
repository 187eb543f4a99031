import type { Transaction } from '../platform/database/scope.ts';

/** An OAuth 2 provider, and the client that we are registered as. */
export interface OAuthProvider {
  /** `google` */
  id: string;
  authorizeUrl: string;
  tokenUrl: string;
  /** Where grants are revoked (RFC 7009). Undefined where the provider has no such address. */
  revokeUrl?: string;
  clientId: string;
  clientSecret: string;
  /** The scopes that are requested if a consent names no others. */
  scopes: readonly string[];
  /** Between scopes, where it is not the space of RFC 6749. */
  scopeSeparator?: ',';
  /** Whether it takes PKCE with S256. */
  pkce: boolean;
  /** How the client proves its identity at the token endpoint: in the form, or in the header Authorization. */
  clientAuth: 'body' | 'basic';
  /** Whether it does so at the revocation endpoint too. */
  authenticatesRevocation?: boolean;
  /** Whether revoking one token ends all access of our client to the account, whichever tenant connected it. */
  revokesAccount?: boolean;
  /** Whether the owner of an account may grant some of the scopes and not others, and the provider says which. */
  grantsInPart?: boolean;
  /** Whether access tokens are revoked, and refresh tokens are not. */
  revokesAccessToken?: boolean;
  /**
   * Converts an answer of its token endpoint to the form of RFC 6749, if the provider's form differs. With a member
   * `error` it is a refusal, whatever the status was.
   */
  tokenAnswer?(answer: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Further parameters of the address at which the owner of an account is asked. */
  authorizeParameters?: Readonly<Record<string, string>>;
}

/** A use that a feature makes of connections. */
export interface Purpose {
  /** `calendar` */
  name: string;
  /** The path of the callback below PUBLIC_URL. All providers of a purpose answer there. */
  callbackPath: string;
  /** All that there are, by id; undefined where the environment does not have the client's credentials. */
  providers: Readonly<Record<string, OAuthProvider | undefined>>;
  /** Path and query of where the owner of an account is sent in the sandbox, below PUBLIC_URL; undefined for the usual ones. */
  sandboxPath?(question: { provider: string; state: string; redirectUri: string }): string;
  /** What follows in the transaction that ends a connection's access because the provider refuses it: once each time. */
  onExpired?(tx: Transaction, connectionId: string): Promise<void>;
}
