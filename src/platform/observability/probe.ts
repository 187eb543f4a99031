import { Socket } from 'node:net';
import pg, { type QueryResultRow } from 'pg';
import { databaseRoles } from '../database/database.ts';
import { type Statement, sqlOn } from '../database/sql.ts';

/**
 * Queries PostgreSQL on one connection of its own, with a timeout. Health checks and gauges must not queue behind requests
 * for the pool, and must return even when PostgreSQL does not answer.
 */
export class Probe {
  readonly #url: string;
  #connected: Promise<pg.Client> | undefined;
  #socket: Socket | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws Error when PostgreSQL does not answer in time; the connection is then closed */
  async rows<Row extends QueryResultRow>(of: Statement<Row, Record<never, never>>, withinMs: number): Promise<Row[]> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`PostgreSQL did not answer in ${withinMs} ms.`)), withinMs);
    const asked = this.#client().then((client) => sqlOn(client).rows(of));
    try {
      return await Promise.race([asked, late.promise]);
    } catch (error) {
      // After an error reported by PostgreSQL the connection is still usable.
      if (!(error instanceof Error && 'severity' in error)) this.close();
      // It rejects when the connection closes, and is no longer awaited.
      asked.catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#connected = undefined;
    // `client.end()` would wait for a server that hangs.
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #client(): Promise<pg.Client> {
    this.#connected ??= this.#connect();
    return this.#connected;
  }

  async #connect(): Promise<pg.Client> {
    const socket = new Socket();
    this.#socket = socket;
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'atelier probe',
      options: `-c role=${databaseRoles.system}`,
      stream: () => socket,
    });
    client.on('error', () => {});
    client.on('end', () => {
      if (this.#socket === socket) this.close();
    });
    await client.connect();
    return client;
  }
}
