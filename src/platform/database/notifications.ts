import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { databaseRoles } from './database.ts';

const firstReconnectMs = 100;
const maxReconnectMs = 5_000;
const pingEveryMs = 1_000;

/** Called after each connect, before notifications are handled. */
type OnConnect = (client: pg.Client) => Promise<void>;

/**
 * Receives PostgreSQL notifications on one connection of its own. Notifications sent while the connection is down are
 * lost, so listeners must also poll, or check `silenceMs`.
 */
export class Notifications {
  readonly #url: string;
  readonly #log: Log;
  readonly #handlers = new Map<string, (payload: string) => void>();
  readonly #onConnect: OnConnect[] = [];
  readonly #onLost: (() => void)[] = [];
  #client: pg.Client | undefined;
  #stopped = false;
  #receivedUpTo = Number.NEGATIVE_INFINITY;
  #ping: NodeJS.Timeout | undefined;

  constructor(url: string, log: Log) {
    this.#url = url;
    this.#log = log;
  }

  /** Channel names must not come from requests. Resolves when it listens; before `start`, at once. */
  async on(channel: string, handler: (payload: string) => void): Promise<void> {
    this.#handlers.set(channel, handler);
    await this.#client?.query(`listen ${pg.escapeIdentifier(channel)}`);
  }

  /** Call before `start`. */
  onConnection(connected: OnConnect, lost: () => void): void {
    this.#onConnect.push(connected);
    this.#onLost.push(lost);
  }

  /**
   * Milliseconds since the time up to which no notification can have been missed. PostgreSQL delivers pending notifications
   * before it answers a query, so everything sent before the last answered ping began has been received.
   */
  get silenceMs(): number {
    return performance.now() - this.#receivedUpTo;
  }

  /** Sends on the listening connection, so that receivers see its process id. */
  async send(channel: string, payload: string): Promise<void> {
    await this.#client?.query('select pg_notify($1, $2)', [channel, payload]);
  }

  async start(): Promise<void> {
    const began = performance.now();
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'atelier notifications',
      options: `-c role=${databaseRoles.system}`,
      keepAlive: true,
    });
    client.on('notification', ({ channel, payload }) => this.#handlers.get(channel)?.(payload ?? ''));
    client.on('error', () => {});
    client.on('end', () => this.#reconnect(client));
    await client.connect();
    for (const channel of this.#handlers.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    this.#client = client;
    for (const connected of this.#onConnect) await connected(client);
    this.#receivedUpTo = began;
    this.#schedulePing(client);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#ping);
    await this.#client?.end();
  }

  #schedulePing(client: pg.Client): void {
    this.#ping = setTimeout(async () => {
      if (this.#client !== client) return;
      const began = performance.now();
      try {
        await client.query('select 1');
        this.#receivedUpTo = began;
        this.#schedulePing(client);
      } catch {
        client.end().catch(() => {});
      }
    }, pingEveryMs).unref();
  }

  async #reconnect(lost: pg.Client): Promise<void> {
    if (this.#client !== lost) return;
    this.#client = undefined;
    this.#receivedUpTo = Number.NEGATIVE_INFINITY;
    for (const onLost of this.#onLost) onLost();
    for (let pause = firstReconnectMs; !this.#stopped; pause = Math.min(pause * 2, maxReconnectMs)) {
      try {
        return await this.start();
      } catch (error) {
        this.#log.warn({ err: error }, 'the notification connection is down');
        await sleep(pause, undefined, { ref: false });
      }
    }
  }
}
