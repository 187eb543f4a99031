import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi';
import { clock } from '../platform/clock.ts';
import type { Egress } from '../platform/egress/egress.ts';
import type { Authority, AuthorizationAnswer, AuthorizationRequest, Tokens } from './authority.ts';
import { challengeOf } from './code-verifier.ts';
import { AuthorizationFailure } from './failures.ts';
import type { ConnectionPolicy } from './policy.ts';
import type { OAuthProvider } from './providers.ts';
import { TokenRequest } from './token-endpoint.ts';

// Loaded by the first exchange: most processes need none.
const load = () => import('oauth4webapi');
type Library = Awaited<ReturnType<typeof load>>;

/** RFC 6750 allows visible ASCII; anything else could not be sent as a header. */
const tokenPattern = /^[\x21-\x7e]+$/;
const maxLifetimeSeconds = 10 * 365 * 86_400;

/** A provider over OAuth 2. The exchange, its checks and errors are oauth4webapi's; the network is ours. */
export class LiveAuthority implements Authority {
  readonly revokesAccount: boolean;
  readonly revokes: 'access' | 'refresh';
  readonly #provider: OAuthProvider;
  readonly #egress: Egress;
  readonly #policy: ConnectionPolicy;

  constructor(provider: OAuthProvider, egress: Egress, policy: ConnectionPolicy) {
    this.#policy = policy;
    this.#provider = provider;
    this.revokesAccount = provider.revokesAccount ?? false;
    this.revokes = provider.revokesAccessToken ? 'access' : 'refresh';
    this.#egress = egress;
  }

  authorizeUrl({ state, verifier, redirectUri, loginHint, scopes }: AuthorizationRequest): string {
    const { authorizeUrl, clientId, pkce, authorizeParameters, scopeSeparator = ' ' } = this.#provider;
    const url = new URL(authorizeUrl);
    const parameters = {
      ...authorizeParameters,
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: (scopes ?? this.#provider.scopes).join(scopeSeparator),
      state,
      ...(pkce && { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' }),
      ...(loginHint !== undefined && { login_hint: loginHint }),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  async exchange({ query, state, verifier, redirectUri, scopes }: AuthorizationAnswer): Promise<Tokens> {
    const oauth = await load();
    const [server, client] = this.#parties(this.#issuer(query.get('iss')));
    return this.#ask(this.#policy.tokenMs, async (request) => {
      const checked = this.#checked(oauth, server, client, query, state);
      const answer = await oauth.authorizationCodeGrantRequest(
        ...([server, client, this.#clientAuth(oauth), checked, redirectUri] as const),
        this.#provider.pkce ? verifier : oauth.nopkce,
        this.#options(oauth, request),
      );
      const given = await oauth.processAuthorizationCodeResponse(server, client, answer);
      this.#requireScopes(given.scope, scopes);
      return tokensOf(given);
    });
  }

  async refresh(refreshToken: string): Promise<Tokens> {
    const oauth = await load();
    const [server, client] = this.#parties();
    return this.#ask(this.#policy.tokenMs, async (request) => {
      const answer = await oauth.refreshTokenGrantRequest(
        ...([server, client, this.#clientAuth(oauth), refreshToken, this.#options(oauth, request)] as const),
      );
      return tokensOf(await oauth.processRefreshTokenResponse(server, client, answer));
    });
  }

  async revoke(token: string): Promise<void> {
    if (this.#provider.revokeUrl === undefined) return;
    const oauth = await load();
    const [server, client] = this.#parties();
    // Google expects only the token.
    const auth: ClientAuth = this.#provider.authenticatesRevocation ? this.#clientAuth(oauth) : () => {};
    await this.#ask(this.#policy.revokeMs, async (request) => {
      const answer = await oauth.revocationRequest(server, client, auth, token, this.#options(oauth, request));
      await oauth.processRevocationResponse(answer);
    });
  }

  async #ask<T>(deadlineMs: number, work: (request: TokenRequest) => Promise<T>): Promise<T> {
    const request = new TokenRequest(this.#egress, deadlineMs, this.#provider.tokenAnswer);
    try {
      return await work(request);
    } catch (error) {
      throw request.failureOf(error);
    }
  }

  /** A grant of fewer scopes than requested is refused: actions would fail later, without a visible reason. */
  #requireScopes(granted: string | undefined, scopes = this.#provider.scopes): void {
    const { grantsInPart } = this.#provider;
    if (!grantsInPart || granted === undefined) return;
    const all = granted.split(' ');
    if (scopes.every((scope) => all.includes(scope))) return;
    throw new AuthorizationFailure('access_denied', 'Some of the scopes were refused.', { retryable: false });
  }

  /** The answer, if it is one to our question. @throws AuthorizationFailure */
  #checked(oauth: Library, server: AuthorizationServer, client: Client, query: URLSearchParams, state: string) {
    try {
      return oauth.validateAuthResponse(server, client, query, state);
    } catch (error) {
      const isDenied = error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied';
      const code = isDenied ? 'access_denied' : 'invalid_answer';
      throw new AuthorizationFailure(code, 'The provider gave no code.', { retryable: false, cause: error });
    }
  }

  /**
   * The issuer to compare an answer's `iss` with (RFC 9207). A provider names itself by an address of the host at which
   * it asks; Microsoft's differs by tenant.
   */
  #issuer(given: string | null): string {
    const { origin } = new URL(this.#provider.authorizeUrl);
    return given !== null && URL.parse(given)?.origin === origin ? given : origin;
  }

  #parties(issuer = new URL(this.#provider.authorizeUrl).origin): [AuthorizationServer, Client] {
    const { tokenUrl, revokeUrl, clientId } = this.#provider;
    const revocation = revokeUrl === undefined ? {} : { revocation_endpoint: revokeUrl };
    return [{ issuer, token_endpoint: tokenUrl, ...revocation }, { client_id: clientId }];
  }

  #clientAuth(oauth: Library): ClientAuth {
    const { clientAuth, clientSecret } = this.#provider;
    return clientAuth === 'body' ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
  }

  // The egress decides which addresses may be reached, and whether without TLS.
  #options = (oauth: Library, request: TokenRequest) => ({
    [oauth.customFetch]: request.fetch,
    [oauth.allowInsecureRequests]: true,
  });
}

/** @throws AuthorizationFailure when a token cannot be one */
function tokensOf(answer: TokenEndpointResponse): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = answer;
  for (const token of [accessToken, refreshToken]) {
    if (token !== undefined && !tokenPattern.test(token)) {
      throw new AuthorizationFailure('invalid_answer', 'A token has characters that no token has.', {
        retryable: true,
      });
    }
  }
  const life = seconds === undefined ? undefined : Math.min(seconds, maxLifetimeSeconds);
  return {
    accessToken,
    refreshToken: refreshToken ?? null,
    expiresAt: life === undefined ? null : new Date(clock.now() + life * 1_000),
    answer: { ...answer },
  };
}
