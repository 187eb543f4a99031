import { LockMode } from '@mikro-orm/postgresql';
import { clock } from '../platform/clock.ts';
import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Database } from '../platform/database/database.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { LimitLookUp } from '../tenancy/index.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { Authorities } from './authorities.ts';
import type { Tokens } from './authority.ts';
import { Connection } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { AuthorizationFailure } from './failures.ts';
import { type Grant, Grants } from './grants.ts';
import { checkRedirect } from './redirects.ts';
import { deniedHint, sandboxCode } from './sandbox-authority.ts';
import { sealTokens } from './sealed-tokens.ts';
import { type Asked, type States, stateSeconds } from './states.ts';

interface NewQuestion {
  /** A purpose that a feature declared. */
  purpose: string;
  /** One of that purpose. */
  provider: string;
  /** JSON that the callback needs, such as whose calendar it is. At most a few hundred bytes. */
  subject: Record<string, unknown>;
  /** Where the owner of the account goes afterwards: one of the organization's allowed addresses. */
  redirectUrl?: string | undefined;
  /** Which account is meant, in the provider's words. */
  loginHint?: string | undefined;
  /** The requested scopes, if they differ from the provider's declaration. */
  scopes?: readonly string[] | undefined;
}

/** A pending consent. */
export interface Open {
  state: string;
  /** The code verifier of PKCE. */
  verifier: string;
  /** Our callback. */
  redirectUri: string;
  /** Seconds. */
  expiresIn: number;
}

/** The outcome of exchanging a code. */
type Exchanged = { tokens: Tokens } | { error: 'access_denied' | 'exchange_failed' };

/** The outcome of a callback. */
export interface Answered {
  /** The scope of the tenant that requested the consent. */
  scope: Scope;
  provider: string;
  subject: Record<string, unknown>;
  redirectUrl: string | null;
  loginHint: string | null;
  result: Exchanged;
}

interface NewConnection {
  purpose: string;
  provider: string;
  /** At most 320 characters, as the name. */
  accountId: string;
  accountName: string;
  tokens: Tokens;
}

const erase = statement({
  name: 'connection.erase',
  parameters: { connectionId: 'uuid' },
  text: `delete from oauth_connection where organization_id = :organizationId and environment = :environment
    and id = :connectionId`,
});

interface Parts {
  database: Database;
  sealer: Sealer;
  log: Log;
  authorities: Authorities;
  states: States;
  accessTokens: AccessTokens;
  /** Whether people may be sent back to addresses of their own machine, without TLS. */
  allowsLoopback: boolean;
}

const unknownState = () =>
  invalid([{ path: 'state', message: 'The state is unknown, was used, or is older than ten minutes.' }]);

/**
 * Access to accounts at OAuth 2 providers. A feature declares a purpose, sends the owner of an account to `authUrl`,
 * handles the answer in its callback, stores the connection that it gets, and uses it.
 */
export class Connections {
  readonly #parts: Parts;
  readonly #grants: Grants;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#grants = new Grants(parts);
  }

  /** Called when the feature is opened. @throws Error when another one declared a purpose of this name */
  declare(...[purpose]: Parameters<Authorities['declare']>): void {
    this.#parts.authorities.declare(purpose);
  }

  /**
   * Requests access to an account. Several consents may be pending at once.
   * @returns where to send the owner of the account, and the seconds until the request expires
   * @throws AppError validation_error with path redirectUrl, provider_not_configured, rate_limit_exceeded; SealError
   */
  async begin(scope: Scope, question: NewQuestion): Promise<{ authUrl: string; state: string; expiresIn: number }> {
    await this.#checkRedirect(scope, question);
    const { purpose, provider, loginHint, scopes } = question;
    const authority = this.#parts.authorities.of(scope.tenant.environment, purpose, provider);
    const { expiresIn, ...open } = await this.#keepQuestion(scope, question);
    return { authUrl: authority.authorizeUrl({ ...open, loginHint, scopes }), state: open.state, expiresIn };
  }

  /**
   * The same without an address, for a provider whose page is not OAuth. `take` handles its callback.
   * @throws as `begin`
   */
  async ask(scope: Scope, question: NewQuestion): Promise<Open> {
    await this.#checkRedirect(scope, question);
    return this.#keepQuestion(scope, question);
  }

  async #checkRedirect(scope: Scope, { redirectUrl }: NewQuestion): Promise<void> {
    if (redirectUrl !== undefined) await checkRedirect(scope, redirectUrl, this.#parts.allowsLoopback);
  }

  async #keepQuestion(scope: Scope, { redirectUrl, loginHint, scopes, ...question }: NewQuestion): Promise<Open> {
    const { authorities, states } = this.#parts;
    const optional = { redirectUrl: redirectUrl ?? null, loginHint: loginHint ?? null, scopes: scopes ?? null };
    const asked = await states.ask(scope, { ...question, ...optional });
    return { ...asked, redirectUri: authorities.callbackUrl(question.purpose), expiresIn: stateSeconds };
  }

  /**
   * Handles a callback: uses up its state and exchanges its code. The tenant and all else come from the state, never from the
   * query.
   * @param query of the callback
   * @param limit of look-ups of the state, where strangers send it
   * @throws AppError validation_error with path state for one that is unknown, used, expired or of another purpose; what
   *   `limit` throws
   */
  async finish(query: URLSearchParams, purpose: string, limit?: LimitLookUp): Promise<Answered> {
    const asked = await this.take(query, purpose, limit);
    const { scope, provider, subject, redirectUrl, loginHint } = asked;
    return { scope, provider, subject, redirectUrl, loginHint, result: await this.exchange(asked, query) };
  }

  /** The first half of `finish`. @throws AppError validation_error with path state; what `limit` throws */
  async take(query: URLSearchParams, purpose: string, limit: LimitLookUp = (find) => find()): Promise<Asked> {
    const [state, ...others] = query.getAll('state');
    if (state === undefined || others.length > 0) throw unknownState();
    const asked = await limit(() => this.#parts.states.take(state, 'callback'));
    if (asked?.purpose !== purpose) throw unknownState();
    return asked;
  }

  /** The second half. @param query of the callback */
  async exchange({ scope, purpose, provider, verifier, scopes }: Asked, query: URLSearchParams): Promise<Exchanged> {
    const { authorities, log } = this.#parts;
    try {
      const authority = authorities.of(scope.tenant.environment, purpose, provider);
      const redirectUri = authorities.callbackUrl(purpose);
      const answer = { query, state: query.get('state')!, verifier, redirectUri, scopes: scopes ?? undefined };
      const tokens = await authority.exchange(answer);
      failPoint('connection.exchanged');
      return { tokens };
    } catch (error) {
      if (error instanceof AuthorizationFailure && error.code === 'access_denied') return { error: 'access_denied' };
      log.warn({ err: error, provider, purpose }, 'a code could not be exchanged for tokens');
      return { error: 'exchange_failed' };
    }
  }

  /**
   * Acts as the owner of an account in the sandbox: grants at once, or refuses if the account is `sandbox:denied`.
   * @param expected what the address to which the owner was sent says of the question, and whether the tester refuses
   * @returns our callback with the answer. @throws AppError validation_error with path state
   */
  async answerInSandbox(
    state: string,
    { purpose, provider, denies = false }: { purpose?: string; provider?: string; denies?: boolean } = {},
  ): Promise<string> {
    const { authorities, states } = this.#parts;
    const asked = await states.look(state, 'sandbox');
    if (asked?.scope.tenant.environment !== 'test') throw unknownState();
    if ((purpose ?? asked.purpose) !== asked.purpose || (provider ?? asked.provider) !== asked.provider) {
      throw unknownState();
    }
    const callback = new URL(authorities.callbackUrl(asked.purpose));
    if (denies || asked.loginHint === deniedHint) callback.searchParams.set('error', 'access_denied');
    else callback.searchParams.set('code', sandboxCode(asked.verifier));
    callback.searchParams.set('state', state);
    return callback.href;
  }

  /** The URL at which providers answer consents for a purpose. */
  callbackUrl(purpose: string): string {
    return this.#parts.authorities.callbackUrl(purpose);
  }

  /**
   * Stores access to an account. An existing connection of the tenant to it is renewed: same id, new tokens, active.
   * @throws SealError
   */
  async keep(
    tx: Transaction,
    { purpose, provider, accountId, accountName, tokens }: NewConnection,
  ): Promise<Connection> {
    // Two consents for one account run one after the other.
    await lockForTransaction(tx, `connection ${purpose}/${provider}/${accountId}`);
    const now = clock.date();
    // Its access may be ending: without the lock that end would be committed in between, and would outlast the consent.
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
    const known = await tx.em.findOne(Connection, { purpose, provider, accountId }, lock);
    const id = known?.id ?? newId();
    const { sealedRefreshToken, ...sealed } = sealTokens(this.#parts.sealer, tokens, { id, tenant: tx.tenant });
    const fresh = { ...sealed, accountName, status: 'active', leaseUntil: null, updatedAt: now } as const;
    if (!known) {
      const made = tx.em.create(Connection, {
        id,
        ...tx.tenant,
        purpose,
        provider,
        accountId,
        ...fresh,
        createdAt: now,
        version: 1,
        sealedRefreshToken: sealedRefreshToken ?? null,
      });
      tx.em.persist(made);
      return made;
    }
    const version = known.version + 1;
    Object.assign(known, { ...fresh, version, ...(sealedRefreshToken !== undefined && { sealedRefreshToken }) });
    return known;
  }

  /** `AccessTokens.use`. */
  withAccessToken<T>(scope: Scope, connectionId: string, work: (accessToken: string) => Promise<T>): Promise<T> {
    return this.#parts.accessTokens.use(scope, connectionId, work);
  }

  /**
   * Ends access as if the provider refused it: `onExpired` follows. A no-op without access.
   * @param isMeant asked after the access was looked at: one that is renewed meanwhile is not ended
   */
  expire(scope: Scope, connectionId: string, isMeant: () => Promise<boolean>): Promise<void> {
    return this.#parts.accessTokens.expire(scope, connectionId, isMeant);
  }

  /** Revokes the grant at the provider, within five seconds and ignoring failures; then erases the connection. */
  async revoke(scope: Scope, connectionId: string): Promise<void> {
    await this.revokeAtProvider(scope, connectionId);
    await this.erase(scope, connectionId);
  }

  /** The first half of `revoke`. Never rejects because of the provider. @returns the grant, if there was one */
  async revokeAtProvider(scope: Scope, connectionId: string): Promise<Grant | undefined> {
    const grant = await this.#grants.find(scope, connectionId);
    if (grant) await this.#grants.revoke(grant);
    return grant;
  }

  /** The second half, in a transaction of the caller's or in its own. */
  async erase(scope: Scope, connectionId: string): Promise<void> {
    await scope.rows(erase, { connectionId });
  }

  /**
   * Erases a connection in a transaction. After the commit, `revokeGrant` is called with the result of this function.
   */
  async detach(tx: Transaction, connectionId: string): Promise<Grant | undefined> {
    const grant = await this.#grants.find(tx, connectionId);
    await this.erase(tx, connectionId);
    return grant;
  }

  /** Revokes a grant at the provider, within five seconds. Never rejects because of the provider. */
  revokeGrant(grant: Grant): Promise<void> {
    return this.#grants.revoke(grant);
  }
}
