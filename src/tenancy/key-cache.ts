import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Database } from '../platform/database/database.ts';
import type { Notifications } from '../platform/database/notifications.ts';
import type { Caller } from './caller.ts';

const changedChannel = 'atelier_keys_changed';
const acknowledgedChannel = 'atelier_keys_changed_heard';

/** A process with an active cache holds this advisory lock, shared, on its notification connection. */
const lockClass = 0x4b657973; // "Keys"
const lockId = 1;

/** The cache is inactive after this time without a confirmed notification connection. */
export const leaseMs = 3_000;
/** Added to the lease for the delivery of a notification. */
const marginMs = 500;

/** Limits memory. Above it the cache is cleared, separately for valid and for invalid keys. */
const maxEntries = 10_000;

/**
 * The keys that this process has looked up. Entries are valid until a change is announced, and only while the process is
 * certain to receive announcements. When `announceKeyChange` returns, a revocation is effective everywhere: each process
 * has cleared its cache, or its cache is inactive because it received no notifications in time.
 */
export class KeyCache {
  readonly #notifications: Notifications;
  readonly #entries = new Map<string, Caller>();
  readonly #onChange: (() => void)[] = [];
  /** Unknown or revoked keys, so that a client that keeps sending one causes no queries. */
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

  /** Called after every change, and when the connection for announcements was lost or is back. */
  onChange(changed: () => void): void {
    this.#onChange.push(changed);
  }

  /** Incremented by every change. Results that were read before a change are not cached after it. */
  get generation(): number {
    return this.#generation;
  }

  get(hash: string): Caller | undefined {
    return this.isCertain ? this.#entries.get(hash) : undefined;
  }

  /** Caches a result that was read in the given generation. */
  put(hash: string, entry: Caller, generation: number): void {
    if (generation !== this.#generation || !this.isCertain) return;
    if (this.#entries.size >= maxEntries) this.#entries.clear();
    this.#entries.set(hash, entry);
  }

  isRefused(hash: string): boolean {
    return this.isCertain && this.#refused.has(hash);
  }

  /** Caches a result that was read in the given generation. */
  refuse(hash: string, generation: number): void {
    if (generation !== this.#generation || !this.isCertain) return;
    if (this.#refused.size >= maxEntries) this.#refused.clear();
    this.#refused.add(hash);
  }

  /** Whether every change up to now has been received. */
  get isCertain(): boolean {
    return this.#on && this.#notifications.silenceMs < leaseMs;
  }

  #empty(): void {
    this.#generation++;
    this.#entries.clear();
    this.#refused.clear();
    for (const changed of this.#onChange) changed();
  }

  /** Confirms on the connection that holds the lock, which identifies this process to the announcer. */
  #confirm(nonce: string): Promise<void> {
    return this.#notifications.send(acknowledgedChannel, nonce);
  }
}

const holdersOfCaches = `select pid from pg_locks
  where locktype = 'advisory' and classid = $1 and objid = $2 and mode = 'ShareLock' and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** What one process announces to the others of one database. */
interface Announcing {
  underWay: Promise<void>;
  /** Begins when the one under way has ended, for all changes that were committed meanwhile. */
  next?: Promise<void> | undefined;
}

/**
 * One announcement at a time: each has a connection of its own, and may wait for seconds for a frozen process. However
 * many changes tenants request, the announcements hold no more than one connection.
 */
const announcing = new WeakMap<Database, Announcing>();

function begin(database: Database): Promise<void> {
  const underWay = announce(database);
  const own: Announcing = { underWay };
  announcing.set(database, own);
  const end = () => {
    if (!own.next && announcing.get(database) === own) announcing.delete(database);
  };
  underWay.then(end, end);
  return underWay;
}

/**
 * Announces a change of keys or organizations to every process. Call it after the commit. It returns once no process can
 * use outdated entries: each has confirmed, lost its connection, or been silent for longer than its cache stays active.
 */
export function announceKeyChange(database: Database): Promise<void> {
  const current = announcing.get(database);
  if (!current) return begin(database);
  const beginNext = () => begin(database);
  current.next ??= current.underWay.then(beginNext, beginNext);
  return current.next;
}

async function announce({ settings }: Database): Promise<void> {
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
    await client.query(`listen ${acknowledgedChannel}`);
    const holders = async () =>
      (await client.query<{ pid: number }>(holdersOfCaches, [lockClass, lockId])).rows.map(({ pid }) => pid);
    for (const pid of await holders()) waiting.add(pid);
    const deadline = performance.now() + leaseMs + marginMs;
    await client.query('select pg_notify($1, $2)', [changedChannel, nonce]);
    while (waiting.size > 0 && performance.now() < deadline) {
      const acknowledged = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([acknowledged, sleep(100)]);
      const alive = new Set(await holders());
      for (const pid of waiting) if (!alive.has(pid)) waiting.delete(pid);
    }
  } finally {
    await client.end();
  }
}
