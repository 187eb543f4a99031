import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Database } from '../platform/database.ts';
import type { Notifications } from '../platform/notifications.ts';
import type { Caller } from './caller.ts';

const changedChannel = 'atelier_keys_changed';
const heardChannel = 'atelier_keys_changed_heard';

/** A process whose cache is on holds this advisory lock, shared, on the connection that it hears changes on. */
const lockClass = 0x4b657973; // "Keys"
const lockId = 1;

/** A cache that has not been certain of hearing changes for this long is off. */
export const leaseMs = 3_000;
/** Beyond the lease, for the time a notification takes. */
const marginMs = 500;

/** Bounds memory; past it the cache starts anew, of keys that are good and of those that are not each by itself. */
const maxEntries = 10_000;

export interface CachedKey {
  caller: Caller;
  /** Milliseconds since the epoch, or null. */
  expiresAt: number | null;
}

/**
 * Keys that this process has looked up. Entries have no age: they hold until a change is announced, and only while the
 * process is certain to hear announcements. So a revocation holds everywhere on the next request once `announceKeyChange`
 * has returned: every process has emptied its cache by then, or its cache is off because it did not hear in time.
 */
export class KeyCache {
  readonly #notifications: Notifications;
  readonly #entries = new Map<string, CachedKey>();
  /** Nobody's, or revoked for ever: a client that goes on sending one costs no query. A key is not asked for before it exists. */
  readonly #refused = new Set<string>();
  #generation = 0;
  #on = false;

  constructor(notifications: Notifications) {
    this.#notifications = notifications;
    notifications.on(changedChannel, (nonce) => {
      this.#empty();
      this.#confirm(nonce).catch(() => {});
    });
    notifications.onConnection(
      async (client) => {
        await client.query('select pg_advisory_lock_shared($1, $2)', [lockClass, lockId]);
        this.#empty();
        this.#on = true;
      },
      () => {
        this.#on = false;
        this.#empty();
      },
    );
  }

  /** Names the state of the cache: what was read before a change must not be kept after it. */
  get generation(): number {
    return this.#generation;
  }

  get(hash: string): CachedKey | undefined {
    return this.#isCertain() ? this.#entries.get(hash) : undefined;
  }

  /** Keeps what was looked up while the cache was in this generation. */
  put(hash: string, entry: CachedKey, generation: number): void {
    if (generation !== this.#generation || !this.#isCertain()) return;
    if (this.#entries.size >= maxEntries) this.#entries.clear();
    this.#entries.set(hash, entry);
  }

  isRefused(hash: string): boolean {
    return this.#isCertain() && this.#refused.has(hash);
  }

  /** Keeps what was looked up while the cache was in this generation. */
  refuse(hash: string, generation: number): void {
    if (generation !== this.#generation || !this.#isCertain()) return;
    if (this.#refused.size >= maxEntries) this.#refused.clear();
    this.#refused.add(hash);
  }

  #isCertain(): boolean {
    return this.#on && this.#notifications.silenceMs < leaseMs;
  }

  #empty(): void {
    this.#generation++;
    this.#entries.clear();
    this.#refused.clear();
  }

  /** Said on the connection that holds the lock, so that the announcer knows who said it. */
  #confirm(nonce: string): Promise<void> {
    return this.#notifications.send(heardChannel, nonce);
  }
}

const holdersOfCaches = `select pid from pg_locks
  where locktype = 'advisory' and classid = $1 and objid = $2 and mode = 'ShareLock' and granted
    and database = (select oid from pg_database where datname = current_database())`;

/**
 * Tells every process that keys or their organizations changed. Call after the commit of the change; returns once no
 * process can answer from before it: each confirmed, or lost its connection, or has been silent for longer than its
 * cache is trusted.
 */
export async function announceKeyChange({ settings }: Database): Promise<void> {
  const nonce = randomBytes(8).toString('hex');
  const client = new pg.Client({ connectionString: settings.url, application_name: 'atelier key change' });
  await client.connect();
  try {
    const waiting = new Set<number>();
    let wake = () => {};
    client.on('notification', ({ processId, payload }) => {
      if (payload === nonce) waiting.delete(processId);
      wake();
    });
    await client.query(`listen ${heardChannel}`);
    const holders = async () =>
      (await client.query<{ pid: number }>(holdersOfCaches, [lockClass, lockId])).rows.map(({ pid }) => pid);
    for (const pid of await holders()) waiting.add(pid);
    const deadline = performance.now() + leaseMs + marginMs;
    await client.query('select pg_notify($1, $2)', [changedChannel, nonce]);
    while (waiting.size > 0 && performance.now() < deadline) {
      const heard = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([heard, sleep(100)]);
      const alive = new Set(await holders());
      for (const pid of waiting) if (!alive.has(pid)) waiting.delete(pid);
    }
  } finally {
    await client.end();
  }
}
