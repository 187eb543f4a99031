import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { type OwnConnection, ownConnection } from '../own-connection.ts';
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
  readonly #answerMs: number;
  #connection: OwnConnection | undefined;
  #stopped = false;
  #receivedUpTo = Number.NEGATIVE_INFINITY;
  #ping: NodeJS.Timeout | undefined;

  /** @param answerMs how long PostgreSQL may take for an answer; after that the connection is given up */
  constructor(url: string, log: Log, answerMs = 10_000) {
    this.#url = url;
    this.#log = log;
    this.#answerMs = answerMs;
  }

  /** Channel names must not come from requests. Resolves when it listens; without a connection, at once. */
  async on(channel: string, handler: (payload: string) => void): Promise<void> {
    this.#handlers.set(channel, handler);
    // When this fails the connection is lost, and the next one listens to every channel.
    await this.#connection?.client.query(`listen ${pg.escapeIdentifier(channel)}`).catch(() => {});
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
    await this.#connection?.client.query('select pg_notify($1, $2)', [channel, payload]);
  }

  async start(): Promise<void> {
    const began = performance.now();
    const connection = ownConnection({
      connectionString: this.#url,
      application_name: 'atelier notifications',
      options: `-c role=${databaseRoles.system}`,
      answerMs: this.#answerMs,
    });
    const { client } = connection;
    let isUp = false;
    client.on('notification', ({ channel, payload }) => this.#handlers.get(channel)?.(payload ?? ''));
    client.on('end', () => {
      if (this.#forget(connection) && isUp) void this.#reconnect();
    });
    try {
      await client.connect();
      for (const channel of this.#handlers.keys()) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      this.#connection = connection;
      for (const connected of this.#onConnect) await connected(client);
      // Either may have happened while the others waited, and nobody would end or replace this connection.
      if (this.#stopped || this.#connection !== connection) throw new Error('The connection is over.');
    } catch (error) {
      this.#forget(connection);
      await connection.end();
      throw error;
    }
    isUp = true;
    this.#receivedUpTo = began;
    this.#schedulePing(connection);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#ping);
    await this.#connection?.end();
  }

  #schedulePing(connection: OwnConnection): void {
    this.#ping = setTimeout(async () => {
      if (this.#connection !== connection) return;
      const began = performance.now();
      try {
        await connection.client.query('select 1');
        this.#receivedUpTo = began;
        this.#schedulePing(connection);
      } catch {
        await connection.end();
      }
    }, pingEveryMs).unref();
  }

  /** @returns whether it was the current one */
  #forget(connection: OwnConnection): boolean {
    if (this.#connection !== connection) return false;
    this.#connection = undefined;
    this.#receivedUpTo = Number.NEGATIVE_INFINITY;
    for (const onLost of this.#onLost) onLost();
    return true;
  }

  async #reconnect(): Promise<void> {
    for (let pause = firstReconnectMs; !this.#stopped; pause = Math.min(pause * 2, maxReconnectMs)) {
      try {
        return await this.start();
      } catch (error) {
        if (this.#stopped) return;
        this.#log.warn({ err: error }, 'the notification connection is down');
        await sleep(pause, undefined, { ref: false });
      }
    }
  }
}
