import pg from 'pg';
import { databaseRoles } from '../platform/database/database.ts';
import { unavailable } from '../platform/errors.ts';
import type { Auth, AuthOptions } from './better-auth.ts';

/** Connections of one process for signing in: everything else is read in the role `system`. */
const maxConnections = 4;

interface LateAuthOptions extends Omit<AuthOptions, 'pool' | 'secret'> {
  databaseUrl: string;
  secret: string | undefined;
}

/** better-auth and its connections, made at the first sign-in. */
export class LateAuth {
  readonly #options: LateAuthOptions;
  #opened: Promise<{ auth: Auth; pool: pg.Pool }> | undefined;

  constructor(options: LateAuthOptions) {
    this.#options = options;
  }

  /** @throws AppError service_unavailable without a signing key */
  async get(): Promise<Auth> {
    this.#opened ??= this.#open();
    return (await this.#opened).auth;
  }

  async close(): Promise<void> {
    await (await this.#opened?.catch(() => undefined))?.pool.end();
  }

  async #open() {
    const { databaseUrl, secret, ...options } = this.#options;
    if (secret === undefined) throw unavailable('Signing in');
    const { openBetterAuth } = await import('./better-auth.ts');
    const pool = new pg.Pool({
      connectionString: databaseUrl,
      max: maxConnections,
      application_name: 'atelier accounts',
      connectionTimeoutMillis: 2_000,
      statement_timeout: 10_000,
      query_timeout: 12_000,
      options: `-c role=${databaseRoles.auth} -c search_path=auth`,
    });
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
    return { pool, auth: openBetterAuth({ ...options, secret, pool }) };
  }
}
