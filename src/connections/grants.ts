import type { Database } from '../platform/database/database.ts';
import type { Scope } from '../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { Environment } from '../platform/tenant.ts';
import type { Authorities } from './authorities.ts';
import { openToken } from './sealed-tokens.ts';

/** The grant that a provider is asked to end. It contains tokens: it is never stored and never logged. */
export interface Grant {
  connectionId: string;
  environment: Environment;
  purpose: string;
  provider: string;
  accountId: string;
  /** The one that is revoked. */
  token: string;
  /** For requests that precede the revocation; it may have expired. */
  accessToken: string | null;
}

const find = statement({
  name: 'connection.grant',
  parameters: { connectionId: 'uuid' },
  row: {
    purpose: 'text',
    provider: 'text',
    accountId: 'text',
    sealedAccessToken: 'text?',
    sealedRefreshToken: 'text?',
  },
  text: `select purpose, provider, account_id as "accountId", sealed_access_token as "sealedAccessToken",
          sealed_refresh_token as "sealedRefreshToken"
     from oauth_connection where organization_id = :organizationId and environment = :environment
       and id = :connectionId`,
});
// Across tenants, because a revocation at the provider affects all of them.
const findShared = systemStatement({
  name: 'connection.of_same_account',
  parameters: { purpose: 'text', provider: 'text', accountId: 'text', environment: 'text', connectionId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from oauth_connection
    where purpose = :purpose and provider = :provider and account_id = :accountId and environment = :environment
      and id <> :connectionId and status = 'active'
    limit 1`,
});

interface Parts {
  database: Database;
  sealer: Sealer;
  log: Log;
  authorities: Authorities;
}

/** Finds and revokes grants. */
export class Grants {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @returns undefined where there is no access, or its tokens cannot be opened */
  async find(scope: Scope, connectionId: string): Promise<Grant | undefined> {
    const { authorities, sealer, log } = this.#parts;
    const row = await scope.one(find, { connectionId });
    if (!row) return undefined;
    const { purpose, provider, accountId, sealedAccessToken, sealedRefreshToken } = row;
    const { environment } = scope.tenant;
    const of = { id: connectionId, tenant: scope.tenant };
    try {
      const refreshToken =
        authorities.of(environment, purpose, provider).revokes === 'refresh'
          ? openToken(sealer, 'sealed_refresh_token', sealedRefreshToken, of)
          : null;
      const accessToken = openToken(sealer, 'sealed_access_token', sealedAccessToken, of);
      const token = refreshToken ?? accessToken;
      return token === null
        ? undefined
        : { connectionId, environment, purpose, provider, accountId, token, accessToken };
    } catch (error) {
      log.warn({ err: error, connectionId, provider }, 'a grant that is to end cannot be revoked');
      return undefined;
    }
  }

  /**
   * Revokes a grant at the provider, unless that would end the access of others to the same account. Never rejects because of
   * the provider.
   */
  async revoke({ connectionId, environment, purpose, provider, accountId, token }: Grant): Promise<void> {
    const { database, authorities, log } = this.#parts;
    try {
      const authority = authorities.of(environment, purpose, provider);
      const account = { purpose, provider, accountId, environment, connectionId };
      if (authority.revokesAccount && (await sqlOn(database.pool).one(findShared, account))) return;
      await authority.revoke(token);
    } catch (error) {
      log.warn({ err: error, connectionId, provider }, 'a grant could not be revoked');
    }
  }
}
