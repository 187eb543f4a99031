import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import type { SealedPlace, Sealer } from '../platform/security/crypto.ts';
import type { Environment, Tenant } from '../platform/tenant.ts';
import { isKept } from '../tenancy/index.ts';
import { hashOfState, newSecret, secretPattern } from './code-verifier.ts';

export const stateSeconds = 600;
/** Pending consents of one organization and environment. */
const maxOpen = 500;

/** A consent that is requested. */
export interface Question {
  purpose: string;
  provider: string;
  /** Data for the feature that asks, for use when the answer arrives. */
  subject: Record<string, unknown>;
  redirectUrl: string | null;
  loginHint: string | null;
  /** The requested scopes; null for those of the provider's declaration. */
  scopes: readonly string[] | null;
}

/** A consent whose callback has arrived. */
export interface Asked extends Question {
  scope: Scope;
  verifier: string;
}

const removeOver = statement({
  name: 'oauth_state.remove_over',
  text: `delete from oauth_state where organization_id = :organizationId and environment = :environment
    and expires_at <= atelier_now()`,
});
const keep = statement({
  name: 'oauth_state.keep',
  parameters: {
    stateHash: 'text',
    purpose: 'text',
    provider: 'text',
    subject: 'jsonb',
    redirectUrl: 'text?',
    loginHint: 'text?',
    scopes: 'jsonb?',
    sealedVerifier: 'text',
    correlationId: 'text',
    stateSeconds: 'float8',
    maxOpen: 'bigint',
  },
  row: { kept: 'boolean' },
  text: `insert into oauth_state (organization_id, environment, state_hash, purpose, provider, subject, redirect_url,
                            login_hint, scopes, sealed_verifier, correlation_id, created_at, expires_at)
   select :organizationId, :environment, :stateHash, :purpose, :provider, :subject, :redirectUrl, :loginHint, :scopes,
          :sealedVerifier, :correlationId, atelier_now(), atelier_now() + make_interval(secs => :stateSeconds)
    where (select count(*) from oauth_state
            where organization_id = :organizationId and environment = :environment) < :maxOpen
   returning true as kept`,
});

const columns = `organization_id as "organizationId", environment, purpose, provider, subject,
  redirect_url as "redirectUrl", login_hint as "loginHint", scopes, sealed_verifier as "sealedVerifier",
  correlation_id as "correlationId", expires_at > atelier_now() as "isOpen"`;

const rowColumns = {
  organizationId: 'uuid',
  environment: typed<Environment>('text'),
  purpose: 'text',
  provider: 'text',
  subject: typed<Record<string, unknown>>('jsonb'),
  redirectUrl: 'text?',
  loginHint: 'text?',
  scopes: typed<readonly string[] | null>('jsonb?'),
  sealedVerifier: 'text',
  correlationId: 'text',
  isOpen: 'boolean',
} as const;

// The only look-ups without a tenant: the state identifies it. A deleted organization connects nothing.
const isAsked = `state_hash = :stateHash and ${isKept('organization_id')}`;
const take = systemStatement({
  name: 'oauth_state.take',
  parameters: { stateHash: 'text' },
  row: rowColumns,
  text: `delete from oauth_state where ${isAsked} returning ${columns}`,
});
const find = systemStatement({
  name: 'oauth_state.find',
  parameters: { stateHash: 'text' },
  row: rowColumns,
  text: `select ${columns} from oauth_state where ${isAsked}`,
});

const removeExpired = systemStatement({
  name: 'oauth_state.remove_expired',
  parameters: { limit: 'int' },
  row: { removed: 'boolean' },
  text: `delete from oauth_state where state_hash in (
     select state_hash from oauth_state where expires_at <= atelier_statement_now() order by expires_at limit :limit)
   returning true as removed`,
});

/** Pending consents. */
export class States {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor({ database, sealer }: { database: Database; sealer: Sealer }) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * Stores a pending consent for ten minutes.
   * @throws AppError rate_limit_exceeded when too many of the tenant are open; SealError
   */
  async ask(scope: Scope, question: Question): Promise<{ state: string; verifier: string }> {
    const [state, verifier] = [newSecret(), newSecret()];
    const hash = hashOfState(state);
    const sealed = this.#sealer.seal(verifier, placeOf(hash, scope.tenant));
    const { purpose, provider, subject, redirectUrl, loginHint, scopes } = question;
    const kept = await scope.transaction(async (tx) => {
      // Concurrent requests run one after another, so that none of them exceeds the limit.
      await lockForTransaction(tx, 'oauth states');
      await tx.rows(removeOver);
      return tx.one(keep, {
        stateHash: hash,
        purpose,
        provider,
        subject: JSON.stringify(subject),
        redirectUrl,
        loginHint,
        scopes: scopes && JSON.stringify(scopes),
        sealedVerifier: sealed,
        correlationId: scope.correlationId,
        stateSeconds,
        maxOpen,
      });
    });
    if (kept) return { state, verifier };
    const message = `At most ${maxOpen} accounts may be waiting for the consent of their owners.`;
    throw new AppError('rate_limit_exceeded', message, { limit: maxOpen }, { retryAfter: 60 });
  }

  /** Takes the pending consent of a state, which can be used once. @returns undefined if it is not open */
  take(state: string, actor: string): Promise<Asked | undefined> {
    return this.#read(take, state, actor);
  }

  /** The same, and it stays open. */
  look(state: string, actor: string): Promise<Asked | undefined> {
    return this.#read(find, state, actor);
  }

  async #read(by: typeof take, state: string, actor: string): Promise<Asked | undefined> {
    if (!secretPattern.test(state)) return undefined;
    const hash = hashOfState(state);
    const row = await sqlOn(this.#database.pool).one(by, { stateHash: hash });
    if (!row?.isOpen) return undefined;
    const { organizationId, environment, sealedVerifier, correlationId, isOpen: _, ...question } = row;
    const tenant = { organizationId, environment };
    const verifier = this.#sealer.open(sealedVerifier, placeOf(hash, tenant));
    return { ...question, scope: new Scope(this.#database, tenant, correlationId, actor), verifier };
  }
}

const placeOf = (hash: string, tenant: Tenant): SealedPlace => ({
  table: 'oauth_state',
  column: 'sealed_verifier',
  rowId: hash,
  tenant,
});

/** Removes consents that were not answered in time. @returns how many */
export const removeExpiredStates = async (database: Database, limit: number): Promise<number> =>
  (await sqlOn(database.pool).rows(removeExpired, { limit })).length;
