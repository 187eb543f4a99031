import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../platform/database/database.ts';
import type { Notifications } from '../platform/database/notifications.ts';
import { statement, systemStatement } from '../platform/database/sql.ts';
import { ownConnection } from '../platform/own-connection.ts';

const changedChannel = 'atelier_keys_changed';
const acknowledgedChannel = 'atelier_keys_changed_heard';

/** A process with an active cache holds this advisory lock, shared, on its notification connection. */
const lockClass = 0x4b657973; // "Keys"
const lockId = 1;

/** Caches are inactive after this time without a confirmed notification connection. */
const leaseMs = 3_000;
/** Added to the lease for the delivery of a notification. */
const marginMs = 500;

/** Organizations whose last change is remembered. */
const maxOrganizations = 10_000;
/** Organizations of one announcement. PostgreSQL takes payloads of less than 8,000 bytes; more are announced as all. */
const maxAnnounced = 200;

// A payload is a word that identifies the announcement, and the ids of the organizations that changed, separated by
// spaces. Without ids every organization may have changed.
const payloadOf = (word: string, organizationIds: ReadonlySet<string> | undefined): string =>
  organizationIds && organizationIds.size <= maxAnnounced ? [word, ...organizationIds].join(' ') : word;

/**
 * Sent in the transaction of a change, so that a process that ends between its commit and the announcement leaves no
 * outdated entry in the caches of others. Without an id every organization may have changed.
 */
export const notifyKeyChange = systemStatement({
  name: 'api_key.notify_change',
  parameters: { organizationId: 'uuid?' },
  text: `select pg_notify('${changedChannel}', concat_ws(' ', 'commit', :organizationId::text))`,
});
/** The same for a transaction of the organization. */
export const notifyOwnKeyChange = statement({
  name: 'own_key.notify_change',
  text: `select pg_notify('${changedChannel}', concat_ws(' ', 'commit', :organizationId::text))
    where :environment is not null`,
});

type Receiving = Pick<Notifications, 'on' | 'onConnection' | 'send' | 'silenceMs'>;

/**
 * The announced changes of organizations and their keys. What was read of an organization is valid until a change of it
 * is announced, and only while the process is certain to receive announcements. When `announceKeyChange` returns, a
 * revocation is effective everywhere: each process knows of the change, or uses nothing that it has cached because it
 * received no notifications in time.
 */
export class KeyChanges {
  readonly #notifications: Receiving;
  readonly #onChange: (() => void)[] = [];
  #generation = 0;
  /** What was read in an earlier generation is outdated, whichever organization it is of. */
  #allChangedIn = 0;
  /** The generation of the last change of an organization; the oldest first. */
  readonly #changedIn = new Map<string, number>();
  #on = false;

  constructor(notifications: Receiving) {
    this.#notifications = notifications;
    notifications.on(changedChannel, (payload) => {
      const [, ...organizationIds] = payload.split(' ');
      if (organizationIds.length > 0) this.#changed(organizationIds);
      else this.#allChanged();
      this.#confirm(payload).catch(() => {});
    });
    notifications.onConnection(
      async (client) => {
        await client.query('select pg_advisory_lock_shared($1, $2)', [lockClass, lockId]);
        this.#allChanged();
        this.#on = true;
      },
      () => {
        this.#on = false;
        this.#allChanged();
      },
    );
  }

  /** Called after every change, and when the connection for announcements was lost or is back. */
  onChange(changed: () => void): void {
    this.#onChange.push(changed);
  }

  /** Incremented by every change. To be read before what is cached is. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Whether what was read of an organization in a generation is certain to be valid still. Without an organization:
   * whether nothing has changed since that concerns all.
   */
  isCurrent(generation: number, organizationId?: string): boolean {
    if (!this.#isCertain || generation < this.#allChangedIn) return false;
    return organizationId === undefined || generation >= (this.#changedIn.get(organizationId) ?? 0);
  }

  /** Whether every change up to now has been received. */
  get #isCertain(): boolean {
    return this.#on && this.#notifications.silenceMs < leaseMs;
  }

  #changed(organizationIds: readonly string[]): void {
    const generation = ++this.#generation;
    for (const id of organizationIds) {
      this.#changedIn.delete(id);
      this.#changedIn.set(id, generation);
    }
    for (const [id, changedIn] of this.#changedIn) {
      if (this.#changedIn.size <= maxOrganizations) break;
      this.#changedIn.delete(id);
      this.#allChangedIn = changedIn;
    }
    for (const changed of this.#onChange) changed();
  }

  #allChanged(): void {
    this.#allChangedIn = ++this.#generation;
    this.#changedIn.clear();
    for (const changed of this.#onChange) changed();
  }

  /**
   * Confirms on the connection that holds the lock, which identifies this process to the announcer. It repeats the
   * payload whole, as processes of earlier versions do, which know no ids in it.
   */
  #confirm(payload: string): Promise<void> {
    return this.#notifications.send(acknowledgedChannel, payload);
  }
}

const holdersOfCaches = `select pid from pg_locks
  where locktype = 'advisory' and classid = $1 and objid = $2 and mode = 'ShareLock' and granted
    and database = (select oid from pg_database where datname = current_database())`;

/** The organizations of an announcement. Undefined: all. */
type Announced = Set<string> | undefined;

/** What one process announces to the others of one database. */
interface Announcing {
  underWay: Promise<void>;
  /** Begins when the one under way has ended, for all changes that were committed meanwhile. */
  next?: { organizationIds: Announced; done: Promise<void> };
}

/** How long PostgreSQL may take for an answer to an announcement: the changes after it wait for its end. */
const answerMs = 4_000;

/**
 * One announcement at a time: each has a connection of its own, and may wait for seconds for a frozen process. However
 * many changes tenants request, the announcements hold no more than one connection.
 */
const announcing = new WeakMap<Database, Announcing>();

function begin(database: Database, organizationIds: Announced): Promise<void> {
  const underWay = announce(database, organizationIds);
  const own: Announcing = { underWay };
  announcing.set(database, own);
  const end = () => {
    if (!own.next && announcing.get(database) === own) announcing.delete(database);
  };
  underWay.then(end, end);
  return underWay;
}

function enqueue(database: Database, current: Announcing): NonNullable<Announcing['next']> {
  const next: Announcing['next'] = { organizationIds: new Set(), done: Promise.resolve() };
  const beginNext = () => begin(database, next.organizationIds);
  next.done = current.underWay.then(beginNext, beginNext);
  return next;
}

/**
 * Announces a change of keys or organizations to every process. Call it after the commit, also if the change was made
 * before: an earlier attempt may have ended in between. It returns once no process can use outdated entries: each has
 * confirmed, lost its connection, or been silent for longer than its cache stays active.
 * @param organizationId a canonical uuid. Without it every organization is announced: needed where a change makes valid
 *   what was refused
 */
export function announceKeyChange(database: Database, organizationId?: string): Promise<void> {
  const current = announcing.get(database);
  if (!current) return begin(database, organizationId === undefined ? undefined : new Set([organizationId]));
  current.next ??= enqueue(database, current);
  const { next } = current;
  if (organizationId === undefined) next.organizationIds = undefined;
  else next.organizationIds?.add(organizationId);
  return next.done;
}

async function announce({ settings }: Database, organizationIds: Announced): Promise<void> {
  const own = payloadOf(randomBytes(8).toString('hex'), organizationIds);
  const connection = ownConnection({
    connectionString: settings.url,
    application_name: 'atelier key change',
    answerMs,
  });
  const { client } = connection;
  try {
    await client.connect();
    const waiting = new Set<number>();
    let wake = () => {};
    client.on('notification', ({ processId, payload }) => {
      if (payload === own) waiting.delete(processId);
      wake();
    });
    await client.query(`listen ${acknowledgedChannel}`);
    const holders = async () =>
      (await client.query<{ pid: number }>(holdersOfCaches, [lockClass, lockId])).rows.map(({ pid }) => pid);
    for (const pid of await holders()) waiting.add(pid);
    const deadline = performance.now() + leaseMs + marginMs;
    await client.query('select pg_notify($1, $2)', [changedChannel, own]);
    while (waiting.size > 0 && performance.now() < deadline) {
      const acknowledged = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([acknowledged, sleep(100)]);
      const alive = new Set(await holders());
      for (const pid of waiting) if (!alive.has(pid)) waiting.delete(pid);
    }
  } finally {
    await connection.end();
  }
}
