import type { PoolClient } from 'pg';
import { LockHeld } from '../concurrency/local-locks.ts';
import { AppError } from '../errors.ts';
import type { Tenant } from '../tenant.ts';

// What policies compare rows with.
const settings = `select set_config('atelier.organization_id', $1, false), set_config('atelier.environment', $2, false)`;

/**
 * The tenant that each pooled connection was last assigned to: usually the next one is the same, and no statement is
 * sent.
 */
const owners = new WeakMap<PoolClient, string>();

const nameOf = ({ organizationId, environment }: Tenant) => `${organizationId}/${environment}`;

/** Sent ahead of the first statement and not waited for: the connection keeps their order. */
export async function assignTenant(client: PoolClient, { organizationId, environment }: Tenant): Promise<void> {
  const owner = nameOf({ organizationId, environment });
  if (owners.get(client) === owner) return;
  owners.delete(client);
  await client.query({ name: 'tenant.assign', text: settings, values: [organizationId, environment] });
  owners.set(client, owner);
}

interface AssignQuery {
  name: string;
  text: string;
  values: unknown[];
}

/** Assigns a connection that several use at the same time to the tenant of each statement, in the order of the statements. */
export class TenantAssignment {
  readonly #client: PoolClient;
  #owner: string | undefined;
  #latest: Promise<unknown> = Promise.resolve();
  hasFailed = false;

  constructor(client: PoolClient) {
    this.#client = client;
    this.#owner = owners.get(client);
  }

  /**
   * Sends the tenant's settings, unless the last statement had the same. Rejects for every statement that relies on
   * failed settings.
   */
  assign(tenant: Tenant, send: (query: AssignQuery) => Promise<unknown>): Promise<unknown> {
    const owner = nameOf(tenant);
    if (owner !== this.#owner) {
      this.#owner = owner;
      owners.delete(this.#client);
      const values = [tenant.organizationId, tenant.environment];
      this.#latest = send({ name: 'tenant.assign', text: settings, values }).catch((error) => {
        this.hasFailed = true;
        throw error;
      });
    }
    return this.#latest;
  }

  /** The next user of the connection knows to which tenant it is assigned. */
  end(): void {
    if (this.#owner !== undefined && !this.hasFailed) owners.set(this.#client, this.#owner);
  }
}

/**
 * Whether a connection can be used again after this error: PostgreSQL reported it, a verb refused, or the transaction has to
 * wait for a lock, and no transaction is left open. After anything else the connection may still be busy with the failed work.
 */
export const isConnectionSound = (client: PoolClient, error: unknown): boolean =>
  (error instanceof AppError || error instanceof LockHeld || (error instanceof Error && 'severity' in error)) &&
  client.getTransactionStatus() === 'I';
