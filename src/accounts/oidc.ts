import type { AuthorizationServer, Client, HttpRequestOptions, IDToken, JWKSCacheInput } from 'oauth4webapi';
import { clock } from '../platform/clock.ts';
import { KeyedSemaphore } from '../platform/concurrency/keyed-semaphore.ts';
import { withoutSlash } from '../platform/core/base-url.ts';
import { JsonBounds } from '../platform/core/bounded-json.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { type AppError, unavailable } from '../platform/errors.ts';
import type { Log } from '../platform/observability/log.ts';
import { OidcStates } from './oidc-states.ts';

// Loaded by the first sign-in: most processes never see one.
const load = () => import('oauth4webapi');
type Library = Awaited<ReturnType<typeof load>>;

/** Far above the metadata, keys and tokens of any provider. */
const maxAnswerBytes = 128 * 1024;
const jsonLimits = { maxBytes: maxAnswerBytes, maxDepth: 12, maxStructures: 2_000 };
/** For all requests of one sign-in, and its wait for a turn. */
const deadlineMs = 10_000;
/** A provider changes its endpoints rarely. */
const metadataMs = 10 * 60_000;
const clockToleranceSeconds = 30;
const maxSubjectLength = 255;
const maxNameLength = 200;
/**
 * Maximum sign-ins of one process that ask the provider at the same time. Some more wait, and further ones are refused.
 */
const [maxConcurrent, maxWaiting] = [8, 100];

interface OidcOptions {
  issuer: string;
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  /** Makes the states of sign-ins. */
  secret: string;
  stateMs: number;
  egress: Egress;
  log: Log;
}

/** A person as the provider knows them. */
export interface OidcIdentity {
  issuer: string;
  subject: string;
  /** As the provider writes it; undefined where it gives none. */
  email: string | undefined;
  /** Whether the provider says that it has proved the address. */
  isEmailVerified: boolean;
  name: string;
}

/** The provider's answer cannot be used. Its cause is for the log: texts of a provider are not shown. */
export class OidcFailure extends Error {
  override name = 'OidcFailure';
}

/** How the library asks the provider. */
type Requests = HttpRequestOptions<'GET' | 'POST'>;

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' ? claim : undefined);

/** One OpenID Connect provider, by its discovery document. The checks are oauth4webapi's; the network is ours. */
export class Oidc {
  readonly states: OidcStates;
  /** Without a slash at its end. */
  readonly issuer: string;
  /** Shown to people. */
  readonly host: string;
  readonly #options: OidcOptions;
  readonly #client: Client;
  readonly #semaphore = new KeyedSemaphore(maxConcurrent, maxWaiting);
  readonly #keys: JWKSCacheInput = {};
  #server: { found: Promise<AuthorizationServer>; until: number } | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.#client = { client_id: options.clientId };
    this.states = new OidcStates(options.secret, options.stateMs);
    this.issuer = withoutSlash(options.issuer);
    this.host = new URL(options.issuer).host;
  }

  /** Where a person signs in. @throws AppError service_unavailable */
  async authorizeUrl(state: string): Promise<string> {
    const oauth = await load();
    const { authorization_endpoint: endpoint } = await this.#ask((deadline) => this.#discover(oauth, deadline));
    const problem = endpoint === undefined ? 'it is absent' : this.#options.egress.checkDestination(endpoint);
    if (endpoint === undefined || problem !== undefined) {
      throw this.#unavailable(new Error(`The authorization_endpoint cannot be used: ${problem}.`));
    }
    const url = new URL(endpoint);
    const parameters = {
      response_type: 'code',
      client_id: this.#options.clientId,
      redirect_uri: this.#options.redirectUri,
      scope: 'openid email profile',
      state,
      nonce: this.states.nonceOf(state),
      code_challenge: await oauth.calculatePKCECodeChallenge(this.states.verifierOf(state)),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * The person of a sign-in at the provider.
   * @param query of the address to which the provider has sent the browser back
   * @throws OidcFailure; AppError service_unavailable where the provider cannot be asked
   */
  async identify(query: URLSearchParams, state: string): Promise<OidcIdentity> {
    const oauth = await load();
    return this.#ask(async (deadline) => {
      const server = await this.#discover(oauth, deadline);
      try {
        return await this.#identify(oauth, server, query, state, deadline);
      } catch (error) {
        throw new OidcFailure('The answer of the provider cannot be used.', { cause: error });
      }
    });
  }

  async #identify(
    oauth: Library,
    server: AuthorizationServer,
    query: URLSearchParams,
    state: string,
    deadline: number,
  ): Promise<OidcIdentity> {
    const client = { ...this.#client, [oauth.clockTolerance]: clockToleranceSeconds };
    const options = this.#requests(oauth, deadline);
    const answer = oauth.validateAuthResponse(server, client, query, state);
    const verifier = this.states.verifierOf(state);
    const tokens = await oauth.authorizationCodeGrantRequest(
      ...([server, client, this.#clientAuth(oauth, server), answer, this.#options.redirectUri, verifier] as const),
      options,
    );
    const expected = { expectedNonce: this.states.nonceOf(state), requireIdToken: true };
    const given = await oauth.processAuthorizationCodeResponse(server, client, tokens, expected);
    await oauth.validateApplicationLevelSignature(server, tokens, { ...options, [oauth.jwksCache]: this.#keys });
    const claims = oauth.getValidatedIdTokenClaims(given)!;
    if (!isSubject(claims.sub)) throw new Error('The subject is empty, too long or not storable.');
    return identityOf(claims, await this.#userInfo(oauth, server, client, claims, given.access_token, options));
  }

  /** The provider's data about the person besides the token, if the token has no address. */
  async #userInfo(
    oauth: Library,
    server: AuthorizationServer,
    client: Client,
    { sub, email }: IDToken,
    accessToken: string,
    options: Requests,
  ): Promise<Record<string, unknown>> {
    if (email !== undefined || server.userinfo_endpoint === undefined) return {};
    const answer = await oauth.userInfoRequest(server, client, accessToken, options);
    return oauth.processUserInfoResponse(server, client, sub, answer);
  }

  #clientAuth(oauth: Library, { token_endpoint_auth_methods_supported: methods = [] }: AuthorizationServer) {
    const usesBody = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    const { clientSecret } = this.#options;
    return usesBody ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
  }

  /** Requests the metadata at most once at a time; a failure is not cached. */
  #discover(oauth: Library, deadline: number): Promise<AuthorizationServer> {
    const now = clock.now();
    if (this.#server && this.#server.until > now) return this.#server.found;
    const found = this.#readMetadata(oauth, deadline).catch((error: unknown) => {
      this.#server = undefined;
      throw this.#unavailable(error);
    });
    this.#server = { found, until: now + metadataMs };
    return found;
  }

  async #readMetadata(oauth: Library, deadline: number): Promise<AuthorizationServer> {
    const issuer = new URL(this.#options.issuer);
    const answer = await oauth.discoveryRequest(issuer, this.#requests(oauth, deadline));
    return oauth.processDiscoveryResponse(issuer, answer);
  }

  // The egress decides which addresses may be reached, and whether without TLS.
  #requests(oauth: Library, deadline: number) {
    return { [oauth.customFetch]: this.#fetchUntil(deadline), [oauth.allowInsecureRequests]: true } as const;
  }

  #fetchUntil(deadline: number) {
    return async (
      url: string,
      { method, headers, body }: { method?: string; headers?: Record<string, string>; body?: unknown },
    ): Promise<Response> => {
      const answer = await this.#options.egress.request({
        url,
        method: method === 'POST' ? 'POST' : 'GET',
        ...(headers && { headers }),
        ...(body !== undefined && body !== null && { body: String(body) }),
        deadlineMs: Math.max(1, deadline - clock.now()),
        maxResponseBytes: maxAnswerBytes,
      });
      if (answer.truncated) throw new Error(`The answer is larger than ${maxAnswerBytes} bytes.`);
      const excess = new JsonBounds(jsonLimits).add(answer.body);
      if (excess) throw new Error(`The answer is not read: ${excess}.`);
      const type = answer.headers['content-type'];
      const { status } = answer;
      return new Response(answer.body.length > 0 ? new Uint8Array(answer.body) : null, {
        // A status that `Response` does not allow is no valid answer of a provider.
        status: status >= 200 && status <= 599 ? status : 599,
        ...(type !== undefined && { headers: { 'content-type': type } }),
      });
    };
  }

  async #ask<Result>(work: (deadline: number) => Promise<Result>): Promise<Result> {
    if (!this.#semaphore.canEnqueue('')) throw unavailable('Signing in at the provider');
    const deadline = clock.now() + deadlineMs;
    return this.#semaphore.run('', async () => {
      if (clock.now() >= deadline) throw unavailable('Signing in at the provider');
      return work(deadline);
    });
  }

  #unavailable(error: unknown): AppError {
    this.#options.log.warn({ err: error, issuer: this.#options.issuer }, 'the OpenID provider cannot be asked');
    return unavailable('Signing in at the provider');
  }
}

const isSubject = (sub: string): boolean => sub !== '' && sub.length <= maxSubjectLength && !sub.includes('\0');

/** A text of the provider as the name of a person. */
const nameOf = (text: string): string =>
  text
    .replace(/\p{Cc}/gu, '')
    .trim()
    .slice(0, maxNameLength)
    .replace(/\p{Cs}$/u, '');

/** Both claims come from one place: other data does not prove an address of the token. */
function identityOf(token: IDToken, beside: Record<string, unknown>): OidcIdentity {
  const of = token.email === undefined ? beside : token;
  return {
    issuer: token.iss,
    subject: token.sub,
    email: textOf(of.email),
    isEmailVerified: of.email_verified === true,
    name: nameOf(textOf(token.name) ?? textOf(beside.name) ?? ''),
  };
}
