import { setTimeout as sleep } from 'node:timers/promises';
import { clock } from '../platform/clock.ts';
import { recordPatiently } from '../platform/database/database-errors.ts';
import type { Scope } from '../platform/database/scope.ts';
import type { Log } from '../platform/observability/log.ts';
import { SealError, type Sealer, secretsUnreadable, secretsUnreadableMessage } from '../platform/security/crypto.ts';
import { type Access, endAccess, findAccess, leaseRefresh, postponeRefresh, saveTokens } from './access-sql.ts';
import type { Authorities } from './authorities.ts';
import { isRefusal, type Tokens } from './authority.ts';
import { failPoint } from './fail-points.ts';
import { AccessTokenRefused, AuthExpired, AuthorizationFailure, ConnectionMissing } from './failures.ts';
import type { ConnectionPolicy } from './policy.ts';
import { openToken, type SealedColumn, sealTokens } from './sealed-tokens.ts';

interface Parts {
  sealer: Sealer;
  authorities: Authorities;
  log: Log;
  policy: ConnectionPolicy;
}

interface Usable {
  accessToken: string;
  version: number;
}

/** What became of a refresh: the row is to be read again, or another process refreshes. */
type Refreshed = 'done' | 'busy';

/**
 * Provides access tokens and refreshes them before they expire, or after the provider refused one. Among all callers in
 * all processes one refreshes, and the others wait for its result. A refresh whose answer is lost is repeated with the
 * same refresh token. Providers that renew refresh tokens either accept the previous one for a while, or refuse it;
 * then the account must be connected again, as without the repetition.
 */
export class AccessTokens {
  readonly #sealer: Sealer;
  readonly #authorities: Authorities;
  readonly #log: Log;
  readonly #policy: ConnectionPolicy;
  /** Refreshes of this process that are under way. */
  readonly #underWay = new Map<string, Promise<Refreshed>>();

  constructor({ sealer, authorities, log, policy }: Parts) {
    this.#sealer = sealer;
    this.#authorities = authorities;
    this.#log = log;
    this.#policy = policy;
  }

  /**
   * Does `work` with an access token, and once more with a new one if the provider refuses it.
   * @param work throws AccessTokenRefused where the provider answers 401
   * @throws AuthExpired, ConnectionMissing, AuthorizationFailure, SealError, and what `work` throws
   */
  async use<T>(scope: Scope, connectionId: string, work: (accessToken: string) => Promise<T>): Promise<T> {
    const first = await this.#usable(scope, connectionId);
    try {
      return await work(first.accessToken);
    } catch (error) {
      if (!(error instanceof AccessTokenRefused)) throw error;
    }
    const second = await this.#usable(scope, connectionId, first.version);
    try {
      return await work(second.accessToken);
    } catch (error) {
      if (!(error instanceof AccessTokenRefused)) throw error;
    }
    if (await this.#end(scope, connectionId, second.version)) throw new AuthExpired();
    const now = await scope.one(findAccess, { id: connectionId });
    if (!now) throw new ConnectionMissing();
    if (now.status !== 'active') throw new AuthExpired();
    // The account was connected again, or another process has refreshed: the refused token says nothing of the new one.
    throw new AuthorizationFailure('busy', 'The tokens were renewed meanwhile.', { retryable: true });
  }

  /**
   * Ends access as if the provider refused it. A no-op without access.
   * @param isMeant asked after the access was looked at: one that is renewed meanwhile is not ended
   */
  async expire(scope: Scope, connectionId: string, isMeant: () => Promise<boolean>): Promise<void> {
    const access = await scope.one(findAccess, { id: connectionId });
    if (access && (await isMeant())) await this.#end(scope, connectionId, access.version);
  }

  /** @param refused the version of the token that the provider refused */
  async #usable(scope: Scope, id: string, refused?: number): Promise<Usable> {
    const waitsUntil = clock.now() + this.#policy.waitMs;
    let before: number | undefined;
    for (let pauseMs = 25; ; pauseMs = Math.min(2 * pauseMs, 400)) {
      const access = await scope.one(findAccess, { id });
      if (!access) throw new ConnectionMissing();
      if (access.status === 'auth_expired') throw new AuthExpired();
      const isRefused = access.version === refused;
      const now = clock.now();
      before ??= access.version;
      // A token from a refresh in the meantime is used even if it has expired already, so that this loop ends.
      const isFresh = access.refreshAt === null || access.refreshAt.getTime() > now || access.version > before;
      if (isFresh && !isRefused) return this.#open(scope, access);
      // A refresh ahead of time may fail: the present token is valid for longer than a request takes.
      const mayUse = !isRefused && access.accessExpiresAt!.getTime() > now + this.#policy.tokenMs;
      let became: Refreshed;
      try {
        became = await this.#refreshOnce(scope, access, isRefused);
      } catch (error) {
        if (mayUse && error instanceof AuthorizationFailure) return this.#open(scope, access);
        throw error;
      }
      if (became === 'done') continue;
      if (mayUse) return this.#open(scope, access);
      if (clock.now() > waitsUntil) {
        throw new AuthorizationFailure('busy', 'The tokens are being refreshed.', { retryable: true });
      }
      await sleep(pauseMs);
    }
  }

  #open(scope: Scope, access: Access): Usable {
    const accessToken = this.#openToken(scope, access, 'sealed_access_token', access.sealedAccessToken)!;
    return { accessToken, version: access.version };
  }

  /** @throws AuthorizationFailure secrets_unreadable: this process lacks the key, and the next one may have it */
  #openToken(scope: Scope, { id, provider }: Access, column: SealedColumn, sealed: string | null): string | null {
    try {
      return openToken(this.#sealer, column, sealed, { id, tenant: scope.tenant });
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      this.#log.error({ err: error, connectionId: id, provider }, 'tokens of a connection cannot be decrypted');
      throw new AuthorizationFailure(secretsUnreadable, secretsUnreadableMessage, { retryable: true, cause: error });
    }
  }

  #refreshOnce(scope: Scope, access: Access, isRefused: boolean): Promise<Refreshed> {
    const known = this.#underWay.get(access.id);
    if (known) return known;
    const begun = this.#refresh(scope, access, isRefused).finally(() => this.#underWay.delete(access.id));
    this.#underWay.set(access.id, begun);
    return begun;
  }

  async #refresh(scope: Scope, access: Access, isRefused: boolean): Promise<Refreshed> {
    const { id, version, purpose, provider } = access;
    const refreshToken = this.#openToken(scope, access, 'sealed_refresh_token', access.sealedRefreshToken);
    if (refreshToken === null) return this.#withoutRefreshToken(scope, access, isRefused);
    if (!(await scope.one(leaseRefresh, { id, version, leaseSeconds: this.#policy.leaseMs / 1_000 }))) {
      const now = await scope.one(findAccess, { id });
      return now && now.version === version ? 'busy' : 'done';
    }
    let tokens: Tokens;
    try {
      tokens = await this.#authorities.of(scope.tenant.environment, purpose, provider).refresh(refreshToken);
    } catch (error) {
      return this.#failed(scope, { id, version, provider }, error);
    }
    failPoint('connection.refreshed');
    const sealed = sealTokens(this.#sealer, tokens, { id, tenant: scope.tenant });
    const { sealedAccessToken, sealedRefreshToken = null, accessExpiresAt, refreshAt } = sealed;
    const saved = { id, version, sealedAccessToken, sealedRefreshToken, accessExpiresAt, refreshAt };
    // Does not overwrite the tokens of a newer consent of the account. The provider may have replaced the refresh token.
    await recordPatiently(() => scope.one(saveTokens, saved));
    return 'done';
  }

  async #withoutRefreshToken(scope: Scope, access: Access, isRefused: boolean): Promise<Refreshed> {
    const { id, version, accessExpiresAt } = access;
    const hasTime = accessExpiresAt !== null && accessExpiresAt.getTime() > clock.now() + this.#policy.tokenMs;
    if (hasTime && !isRefused) return 'busy';
    await this.#end(scope, id, version);
    return 'done';
  }

  async #failed(
    scope: Scope,
    { id, version, provider }: Pick<Access, 'id' | 'version' | 'provider'>,
    error: unknown,
  ): Promise<Refreshed> {
    if (isRefusal(error)) {
      await this.#end(scope, id, version);
      return 'done';
    }
    const { pauseMs, maxPauseMs } = this.#policy;
    const askedMs = error instanceof AuthorizationFailure ? (error.retryAfterMs ?? 0) : 0;
    const seconds = Math.min(Math.max(askedMs, pauseMs), maxPauseMs) / 1_000;
    await scope.one(postponeRefresh, { id, version, seconds });
    this.#log.warn({ err: error, connectionId: id, provider }, 'tokens of a connection could not be refreshed');
    if (error instanceof AuthorizationFailure) throw error;
    const code = (error as { code?: unknown }).code;
    throw new AuthorizationFailure(typeof code === 'string' ? code : 'failed', 'The tokens could not be refreshed.', {
      retryable: code !== 'provider_not_configured',
      cause: error,
    });
  }

  /**
   * Ends access, and notifies the feature that owns the connection, once, unless the account was connected again.
   * @returns whether this call ended it
   */
  #end(scope: Scope, id: string, version: number): Promise<boolean> {
    return scope.transaction(async (tx) => {
      const ended = await tx.one(endAccess, { id, version });
      if (ended) await this.#authorities.purpose(ended.purpose).onExpired?.(tx, id);
      return ended !== undefined;
    });
  }
}
