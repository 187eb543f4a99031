import { Socket } from 'node:net';
import pg, { type QueryResultRow } from 'pg';
import { databaseRoles } from './database.ts';
import { type Statement, sqlOn } from './sql.ts';

/**
 * Asks PostgreSQL about itself on one connection of its own, within a time limit. Whoever asks how the database is must
 * not queue behind the requests that wait for it, and must have an answer when it does not answer at all.
 */
export class Probe {
  readonly #url: string;
  #connected: Promise<pg.Client> | undefined;
  #socket: Socket | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws Error when there is no answer in time; the connection is thrown away then */
  async rows<Row extends QueryResultRow>(of: Statement<Row>, withinMs: number): Promise<Row[]> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`PostgreSQL did not answer in ${withinMs} ms.`)), withinMs);
    const asked = this.#client().then((client) => sqlOn(client).rows(of));
    try {
      return await Promise.race([asked, late.promise]);
    } catch (error) {
      // What PostgreSQL itself reports leaves the connection as good as it was.
      if (!(error instanceof Error && 'severity' in error)) this.close();
      // Ends with the connection, and nobody waits for it any more.
      asked.catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#connected = undefined;
    // A server that is stalled would leave a polite goodbye unanswered.
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
