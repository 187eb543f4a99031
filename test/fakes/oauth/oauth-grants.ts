import { createHash, randomBytes } from 'node:crypto';

const random = () => randomBytes(24).toString('base64url');

interface Code {
  account: string;
  redirectUri: string;
  challenge: string | null;
  scope: string;
  grantId: string;
  isUsed: boolean;
}

interface Grant {
  account: string;
  scope: string;
  isRevoked: boolean;
  /** The refresh tokens that were given, the newest last. */
  refreshTokens: string[];
}

/** An error of RFC 6749, 5.2. */
export class GrantError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

export interface GrantRules {
  /** Every refresh gives a new refresh token. */
  rotates: boolean;
  /** A refresh token that was replaced ends the grant where it is used again (RFC 9700, 4.14.2). */
  detectsReuse: boolean;
  /** Revoking one token ends every grant of its account. */
  revokesAccount: boolean;
  /** The lifetime of access tokens. */
  lifeSeconds: number;
}

/** The memory of an authorization server: codes, grants and tokens. */
export class Grants {
  readonly rules: GrantRules;
  readonly #codes = new Map<string, Code>();
  readonly #grants = new Map<string, Grant>();
  readonly #access = new Map<string, { grantId: string; until: number }>();

  constructor(rules: GrantRules) {
    this.rules = rules;
  }

  issueCode(of: Omit<Code, 'grantId' | 'isUsed'>): string {
    const [code, grantId] = [random(), random()];
    this.#codes.set(code, { ...of, grantId, isUsed: false });
    return code;
  }

  exchange(code: string, redirectUri: string, verifier: string | null): object {
    const found = this.#codes.get(code);
    if (!found) throw new GrantError('invalid_grant');
    if (found.isUsed) {
      // RFC 6749, 4.1.2: what was given for it is revoked.
      const grant = this.#grants.get(found.grantId);
      if (grant) grant.isRevoked = true;
      throw new GrantError('invalid_grant');
    }
    found.isUsed = true;
    const { account, scope, grantId, challenge } = found;
    const proves = verifier !== null && createHash('sha256').update(verifier).digest('base64url') === challenge;
    if (found.redirectUri !== redirectUri || (challenge !== null && !proves)) throw new GrantError('invalid_grant');
    this.#grants.set(grantId, { account, scope, isRevoked: false, refreshTokens: [] });
    return this.#tokens(grantId, true);
  }

  refresh(refreshToken: string): object {
    const [grantId, grant] = this.#grantOf(refreshToken) ?? [];
    if (grantId === undefined || !grant || grant.isRevoked) throw new GrantError('invalid_grant');
    const isOld = grant.refreshTokens.at(-1) !== refreshToken;
    if (isOld && this.rules.detectsReuse) {
      grant.isRevoked = true;
      throw new GrantError('invalid_grant');
    }
    return this.#tokens(grantId, this.rules.rotates);
  }

  /** Revokes the grant of a token of either kind. */
  revoke(token: string): boolean {
    const grantId = this.#access.get(token)?.grantId ?? this.#grantOf(token)?.[0];
    const grant = grantId === undefined ? undefined : this.#grants.get(grantId);
    if (grant) grant.isRevoked = true;
    if (grant && this.rules.revokesAccount) this.revokeAccount(grant.account);
    return grant !== undefined;
  }

  /** The account took our access away. */
  revokeAccount(account: string): void {
    for (const grant of this.#grants.values()) if (grant.account === account) grant.isRevoked = true;
  }

  /** Every access token that was given so far ends now. */
  endAccessTokens(): void {
    for (const token of this.#access.values()) token.until = 0;
  }

  /** Whose access token it is; undefined for one that is not good. */
  accountOf(accessToken: string | undefined): string | undefined {
    const found = this.#access.get(accessToken ?? '');
    const grant = found && this.#grants.get(found.grantId);
    return found && grant && !grant.isRevoked && found.until > Date.now() ? grant.account : undefined;
  }

  #grantOf(refreshToken: string): [string, Grant] | undefined {
    return [...this.#grants].find(([, { refreshTokens }]) => refreshTokens.includes(refreshToken));
  }

  #tokens(grantId: string, withRefreshToken: boolean): object {
    const grant = this.#grants.get(grantId)!;
    const [access, refresh] = [random(), random()];
    const { lifeSeconds } = this.rules;
    this.#access.set(access, { grantId, until: Date.now() + lifeSeconds * 1_000 });
    if (withRefreshToken) grant.refreshTokens.push(refresh);
    return {
      access_token: access,
      token_type: 'Bearer',
      expires_in: lifeSeconds,
      scope: grant.scope,
      ...(withRefreshToken && { refresh_token: refresh }),
    };
  }
}
