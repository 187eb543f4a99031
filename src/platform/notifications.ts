import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from './log.ts';

const firstReconnectMs = 100;
const longestReconnectMs = 5_000;

/**
 * Hears PostgreSQL's NOTIFY on one connection of its own. A notification sent while the connection is down is lost, so
 * whoever listens must also look for itself now and then.
 */
export class Notifications {
  readonly #url: string;
  readonly #log: Log;
  readonly #handlers = new Map<string, (payload: string) => void>();
  #client: pg.Client | undefined;
  #stopped = false;

  constructor(url: string, log: Log) {
    this.#url = url;
    this.#log = log;
  }

  /** Channels are named by the program, never by a request. Call before `start`. */
  on(channel: string, handler: (payload: string) => void): void {
    this.#handlers.set(channel, handler);
  }

  async start(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url, application_name: 'atelier notifications' });
    client.on('notification', ({ channel, payload }) => this.#handlers.get(channel)?.(payload ?? ''));
    client.on('error', () => {});
    client.on('end', () => this.#reconnect(client));
    await client.connect();
    for (const channel of this.#handlers.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    this.#client = client;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#client?.end();
  }

  async #reconnect(lost: pg.Client): Promise<void> {
    if (this.#client !== lost) return;
    this.#client = undefined;
    for (let pause = firstReconnectMs; !this.#stopped; pause = Math.min(pause * 2, longestReconnectMs)) {
      try {
        return await this.start();
      } catch (error) {
        this.#log.warn({ err: error }, 'the notification connection is down');
        await sleep(pause, undefined, { ref: false });
      }
    }
  }
}
