import type { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { findAccess } from './access-sql.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { Authorities } from './authorities.ts';
import type { Tokens } from './authority.ts';
import { Connection } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { AuthorizationFailure } from './failures.ts';
import { checkRedirect } from './redirects.ts';
import { deniedHint, sandboxCode } from './sandbox-authority.ts';
import { openToken, sealTokens } from './sealed-tokens.ts';
import { type States, stateSeconds } from './states.ts';

export interface NewQuestion {
  /** One that a feature declared. */
  purpose: string;
  /** One of that purpose. */
  provider: string;
  /** JSON that the callback needs, such as whose calendar it is. At most a few hundred bytes. */
  subject: Record<string, unknown>;
  /** Where the owner of the account goes afterwards: one of the organization's allowed addresses. */
  redirectUrl?: string | undefined;
  /** Which account is meant, in the provider's words. */
  loginHint?: string | undefined;
}

/** What a callback brought. */
export interface Answered {
  /** Of the tenant that asked. */
  scope: Scope;
  provider: string;
  subject: Record<string, unknown>;
  redirectUrl: string | null;
  loginHint: string | null;
  result: { tokens: Tokens } | { error: 'access_denied' | 'exchange_failed' };
}

export interface NewConnection {
  purpose: string;
  provider: string;
  /** At most 320 characters, as the name. */
  accountId: string;
  accountName: string;
  tokens: Tokens;
}

// Two consents for one account take turns.
const takeTurn = statement(
  'connection.turn',
  "select pg_advisory_xact_lock(hashtextextended('connection ' || $1::uuid || $2::text || $3::text, 0))",
);
// Knows no tenant: the provider does not either.
const findShared = statement<{ id: string }>(
  'connection.of_same_account',
  `select other.id from oauth_connection own
     join oauth_connection other
       on other.purpose = own.purpose and other.provider = own.provider and other.account_id = own.account_id
    where own.id = $1 and other.id <> own.id and other.environment = own.environment and other.status = 'active' limit 1`,
);
const erase = statement(
  'connection.erase',
  'delete from oauth_connection where organization_id = $1 and environment = $2 and id = $3',
);

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
 * handles the answer in its callback, keeps what it is given, and uses it.
 */
export class Connections {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Called when the feature is opened. @throws Error when another one declared a purpose of this name */
  declare(...[purpose]: Parameters<Authorities['declare']>): void {
    this.#parts.authorities.declare(purpose);
  }

  /**
   * Asks for access to an account. Several questions may be open at once.
   * @returns where to send the owner of the account, and the seconds until the question is over
   * @throws AppError validation_error with path redirectUrl, provider_not_configured, rate_limit_exceeded; SealError
   */
  async begin(scope: Scope, question: NewQuestion): Promise<{ authUrl: string; state: string; expiresIn: number }> {
    const { authorities, states, allowsLoopback } = this.#parts;
    const { purpose, provider, subject, redirectUrl = null, loginHint } = question;
    if (redirectUrl !== null) await checkRedirect(scope, redirectUrl, allowsLoopback);
    const authority = authorities.of(scope.tenant.environment, purpose, provider);
    const asked = { purpose, provider, subject, redirectUrl, loginHint: loginHint ?? null };
    const { state, verifier } = await states.ask(scope, asked);
    const redirectUri = authorities.callbackUrl(purpose);
    return {
      authUrl: authority.authorizeUrl({ state, verifier, redirectUri, loginHint }),
      ...{ state, expiresIn: stateSeconds },
    };
  }

  /**
   * Takes an answer, whose state is used up, and exchanges its code. Everything else comes from the state alone: nothing
   * of the query says whose answer it is.
   * @param query of the callback
   * @throws AppError validation_error with path state for one that is unknown, used, expired or of another purpose
   */
  async finish(query: URLSearchParams, purpose: string): Promise<Answered> {
    const { authorities, states, log } = this.#parts;
    const given = query.getAll('state');
    const asked = given.length === 1 ? await states.take(given[0]!, 'callback') : undefined;
    if (asked?.purpose !== purpose) throw unknownState();
    const { scope, provider, subject, redirectUrl, loginHint, verifier } = asked;
    const answered = { scope, provider, subject, redirectUrl, loginHint };
    try {
      const authority = authorities.of(scope.tenant.environment, purpose, provider);
      const redirectUri = authorities.callbackUrl(purpose);
      const tokens = await authority.exchange({ query, state: given[0]!, verifier, redirectUri });
      failPoint('connection.exchanged');
      return { ...answered, result: { tokens } };
    } catch (error) {
      const isDenied = error instanceof AuthorizationFailure && error.code === 'access_denied';
      if (isDenied) return { ...answered, result: { error: 'access_denied' } };
      log.warn({ err: error, provider, purpose }, 'a code could not be exchanged for tokens');
      return { ...answered, result: { error: 'exchange_failed' } };
    }
  }

  /**
   * What the owner of an account does in the sandbox: agrees at once, or refuses where the account is `sandbox:denied`.
   * @returns our callback with the answer. @throws AppError validation_error with path state
   */
  async answerInSandbox(state: string): Promise<string> {
    const { authorities, states } = this.#parts;
    const asked = await states.look(state, 'sandbox');
    if (asked?.scope.tenant.environment !== 'test') throw unknownState();
    const callback = new URL(authorities.callbackUrl(asked.purpose));
    if (asked.loginHint === deniedHint) callback.searchParams.set('error', 'access_denied');
    else callback.searchParams.set('code', sandboxCode(asked.verifier));
    callback.searchParams.set('state', state);
    return callback.href;
  }

  /**
   * Keeps access to an account. What the tenant has of the same account is renewed: same id, new tokens, active.
   * @throws SealError
   */
  async keep(
    tx: Transaction,
    { purpose, provider, accountId, accountName, tokens }: NewConnection,
  ): Promise<Connection> {
    await tx.rows(takeTurn, `${purpose}/${provider}/${accountId}`);
    const now = new Date();
    const known = await tx.em.findOne(Connection, { purpose, provider, accountId });
    const id = known?.id ?? newId();
    const { sealedRefreshToken, ...sealed } = sealTokens(this.#parts.sealer, tokens, { id, tenant: tx.tenant });
    const fresh = { ...sealed, accountName, status: 'active', leaseUntil: null, updatedAt: now } as const;
    if (!known) {
      const made = tx.em.create(Connection, {
        ...{ id, ...tx.tenant, purpose, provider, accountId, ...fresh, createdAt: now, version: 1 },
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

  /** Asks the provider to end the grant, for five seconds at most, whatever comes of it; then erases the connection. */
  async revoke(scope: Scope, connectionId: string): Promise<void> {
    await this.revokeAtProvider(scope, connectionId);
    await this.erase(scope, connectionId);
  }

  /**
   * The first half of `revoke`. Never rejects because of the provider. Nothing is revoked where that would end what others
   * have of the same account.
   */
  async revokeAtProvider(scope: Scope, connectionId: string): Promise<void> {
    const { database, authorities, sealer, log } = this.#parts;
    const access = await scope.one(findAccess, connectionId);
    if (!access) return;
    const of = { id: connectionId, tenant: scope.tenant };
    try {
      const token =
        openToken(sealer, 'sealed_refresh_token', access.sealedRefreshToken, of) ??
        openToken(sealer, 'sealed_access_token', access.sealedAccessToken, of);
      if (token === null) return;
      const authority = authorities.of(scope.tenant.environment, access.purpose, access.provider);
      if (authority.revokesAccount && (await sqlOn(database.pool).one(findShared, [connectionId]))) return;
      await authority.revoke(token);
    } catch (error) {
      log.warn({ err: error, connectionId, provider: access.provider }, 'a grant could not be revoked');
    }
  }

  /** The second half, in a transaction of the caller's or in its own. */
  async erase(scope: Scope, connectionId: string): Promise<void> {
    await scope.rows(erase, connectionId);
  }
}
