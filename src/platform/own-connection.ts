import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** How long PostgreSQL may take to end a connection in order. */
const endMs = 1_000;

/** A connection outside of the pools, for what belongs to a session: channels that it listens to, and locks. */
export interface OwnConnection {
  /** Not connected yet. */
  client: pg.Client;
  /** Never rejects. `client.end()` alone would wait for a server that hangs, for as long as it does. */
  end(): Promise<void>;
}

interface OwnConnectionConfig extends Pick<pg.ClientConfig, 'connectionString' | 'application_name' | 'options'> {
  /** How long PostgreSQL may take to let the client in, and for each answer: a server that is gone never gives one. */
  answerMs: number;
}

export function ownConnection({ answerMs, ...config }: OwnConnectionConfig): OwnConnection {
  const socket = new Socket();
  const client = new pg.Client({
    ...config,
    stream: () => socket,
    keepAlive: true,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  });
  // Without a listener, a connection that is lost would end the process.
  client.on('error', () => {});
  return {
    client,
    async end() {
      await Promise.race([client.end().catch(() => {}), sleep(endMs, undefined, { ref: false })]);
      socket.destroy();
    },
  };
}
