import { setTimeout as sleep } from 'node:timers/promises';
import { unlessAborted } from '../platform/concurrency/deadline.ts';
import { databaseRoles } from '../platform/database/database.ts';
import type { Scope } from '../platform/database/scope.ts';
import { type OwnConnection, ownConnection } from '../platform/own-connection.ts';
import type { EnvironmentKey } from '../platform/security/tenant-key.ts';
import type { ToolServerId } from './core/server-ids.ts';

/** The exclusive use of one server of one tenant. */
interface ToolLock {
  /** Aborted when the lock is lost with the connection to PostgreSQL. */
  lost: AbortSignal;
  end(): Promise<void>;
}

/** Names the lock of a tenant's server. */
type LockName = `tools ${EnvironmentKey} ${ToolServerId}`;

interface Session extends OwnConnection {
  lost: AbortController;
  /** A connection takes one query at a time. */
  last: Promise<unknown>;
}

const tryLock = { name: 'tools.lock', text: 'select pg_try_advisory_lock(hashtextextended($1, 0)) as done' };
const unlock = { name: 'tools.unlock', text: 'select pg_advisory_unlock(hashtextextended($1, 0)) as done' };

async function ask(session: Session, of: { name: string; text: string }, key: LockName): Promise<boolean> {
  const answer = session.last.then(() => session.client.query<{ done: boolean }>({ ...of, values: [key] }));
  session.last = answer.catch(() => {
    // PostgreSQL may have given the lock all the same, to a session that would keep it for ever.
    void session.end();
  });
  return (await answer).rows[0]!.done;
}

const firstPauseMs = 10;
const maxPauseMs = 250;

/**
 * Locks of PostgreSQL, all on one connection of this process: the end of the process releases them, and long calls hold
 * no connection of a pool. A lock that another process holds is polled, because waiting for it would block the
 * connection for all others.
 */
export class ToolLocks {
  readonly #url: string;
  /**
   * The waiters for a key in this process: a session always gets its own lock again, so the database cannot order them.
   */
  readonly #queues = new Map<LockName, Promise<unknown>>();
  readonly #answerMs: number;
  #session: Promise<Session> | undefined;

  /** @param answerMs how long PostgreSQL may take for an answer; after that the connection is given up, with its locks */
  constructor(url: string, answerMs = 10_000) {
    this.#url = url;
    this.#answerMs = answerMs;
  }

  /** @returns undefined when `signal` aborts first. @throws errors of the database */
  async take({ environmentKey }: Pick<Scope, 'environmentKey'>, server: ToolServerId, signal: AbortSignal) {
    const key = `tools ${environmentKey} ${server}` as const;
    const before = this.#queues.get(key);
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    const entry = (before ?? Promise.resolve()).then(() => over);
    this.#queues.set(key, entry);
    const done = () => {
      leave();
      if (this.#queues.get(key) === entry) this.#queues.delete(key);
    };
    try {
      // Aborted: the lock is not taken then either.
      if (before) await unlessAborted(before, signal).catch(() => {});
      const lock = await this.#lock(key, signal, done);
      if (!lock) done();
      return lock;
    } catch (error) {
      done();
      throw error;
    }
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    await session?.end();
  }

  async #lock(key: LockName, signal: AbortSignal, done: () => void): Promise<ToolLock | undefined> {
    for (let pause = firstPauseMs; !signal.aborted; pause = Math.min(pause * 2, maxPauseMs)) {
      this.#session ??= this.#open();
      const session = await this.#session;
      if (await ask(session, tryLock, key)) {
        const end = async () => {
          // A lost session has given the lock back already.
          const given = ask(session, unlock, key).catch(() => {});
          // The next caller in this process asks on the same connection, after this.
          done();
          await given;
        };
        return { lost: session.lost.signal, end };
      }
      await sleep(pause, undefined, { signal }).catch(() => {});
    }
    return undefined;
  }

  #open(): Promise<Session> {
    const opened: Promise<Session> = this.#connect(() => {
      if (this.#session === opened) this.#session = undefined;
    });
    return opened;
  }

  /** @param forget called when the connection is over, or was not made */
  async #connect(forget: () => void): Promise<Session> {
    const lost = new AbortController();
    const gone = () => {
      forget();
      lost.abort(new Error('The lock of the tool server was lost.'));
    };
    const { client, end } = ownConnection({
      connectionString: this.#url,
      application_name: 'atelier tools',
      options: `-c role=${databaseRoles.system}`,
      answerMs: this.#answerMs,
    });
    client.on('end', gone);
    try {
      await client.connect();
    } catch (error) {
      forget();
      throw error;
    }
    return { client, end, lost, last: Promise.resolve() };
  }
}
