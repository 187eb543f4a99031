import { FairQueue } from '../platform/bounded-work/fair-queue.ts';
import { UsedTime } from '../platform/bounded-work/used-time.ts';
import { unlessAborted } from '../platform/concurrency/deadline.ts';
import type { Scope } from '../platform/database/scope.ts';
import type { Log } from '../platform/observability/log.ts';
import type { EnvironmentKey, TenantKey } from '../platform/security/tenant-key.ts';
import { catalogue } from './catalogue.ts';
import type { StoredConfiguration } from './configurations.ts';
import type { ToolServerId } from './core/server-ids.ts';
import type { ToolLimits } from './limits.ts';
import type { ListedTool, ToolConnection } from './tool.ts';
import { ToolLists } from './tool-lists.ts';

/** One server as one tenant has it. */
export interface ToolTarget extends Pick<Scope, 'tenant' | 'tenantKey' | 'environmentKey'> {
  server: ToolServerId;
  /** Undefined in the test environment, where none is needed. */
  configuration: StoredConfiguration | undefined;
}

/** Connects to a server. The connection is ready to be used. */
export type OpenConnection = (target: ToolTarget, signal: AbortSignal) => Promise<ToolConnection>;

/** The cost of a connection: a process of this machine, or little more than a socket. */
type Weight = 'local' | 'remote';

/** A server of a tenant, and one with a version of its configuration. */
type ServerKey = `${EnvironmentKey}/${ToolServerId}`;
type ConnectionKey = `${ServerKey}/${string}`;

interface Entry {
  key: ConnectionKey;
  /** Without the version of the configuration. */
  place: ServerKey;
  organization: TenantKey;
  weight: Weight;
  opening: Promise<ToolConnection>;
  connection: ToolConnection | undefined;
  users: number;
  /** Ends the time that the organization uses the connection, while there are users. */
  endUse: (() => void) | undefined;
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
}

/** A request for a connection that waits until there is room for one. */
interface Waiting {
  target: ToolTarget;
  resolve(entry: Entry): void;
  reject(reason: unknown): void;
}

/** Connections that have one weight. */
interface Pool {
  /** The time for which organizations used connections. */
  used: UsedTime;
  waiting: FairQueue<Waiting>;
}

/** How many connections there are, and how many of them nobody uses. */
interface Counts {
  all: number;
  idle: number;
}

function newPool(): Pool {
  const used = new UsedTime();
  return { used, waiting: new FairQueue((key) => used.of(key)) };
}

const placeOf = ({ environmentKey, server }: ToolTarget): ServerKey => `${environmentKey}/${server}`;
const versionOf = ({ configuration }: ToolTarget): string => `${configuration?.version ?? ''}`;
const keyOf = (target: ToolTarget): ConnectionKey => `${placeOf(target)}/${versionOf(target)}`;
const weightOf = ({ server }: ToolTarget): Weight => (catalogue[server].live.kind === 'local' ? 'local' : 'remote');

const ending = () => new Error('The process is ending.');

/**
 * Connections to tool servers: opened on demand, kept while they are used, and closed when they are idle or broken.
 * Their number is bounded for each organization and for this process. Idle connections make room for new ones. Where none
 * is idle, the organization that used connections for the shortest time of the last minute is next. It may have a quarter
 * of the processes at most, so none has more than half of their time while another waits.
 */
export class ToolConnections {
  readonly #open: OpenConnection;
  readonly #limits: ToolLimits;
  readonly #log: Log;
  readonly #entries = new Map<ConnectionKey, Entry>();
  /** Those of the latest version of a configuration. */
  readonly #lists: ToolLists<ServerKey>;
  /** Lists that are the same for everybody: no more than the catalogue has servers. */
  readonly #fixedLists = new Map<ToolServerId, ListedTool[]>();
  readonly #pools: Readonly<Record<Weight, Pool>> = { local: newPool(), remote: newPool() };
  #isClosed = false;

  constructor({ open, limits, log }: { open: OpenConnection; limits: ToolLimits; log: Log }) {
    this.#open = open;
    this.#limits = limits;
    this.#log = log;
    this.#lists = new ToolLists(limits);
  }

  /** Bytes of memory that the lists of remote servers take, for tests. */
  get listedBytes(): number {
    return this.#lists.bytes;
  }

  /** How many are open, for tests and gauges. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The tools of a server. Those of local servers and of the sandbox are the same for all tenants and cached for ever,
   * others for some minutes.
   */
  async list(target: ToolTarget, signal: AbortSignal): Promise<ListedTool[]> {
    const isFixed = this.#isFixed(target);
    const [key, version] = [placeOf(target), versionOf(target)];
    const known = isFixed ? this.#fixedLists.get(target.server) : this.#lists.get(key, version);
    if (known) return known;
    const tools = await this.use(target, signal, (connection) => connection.list(signal));
    if (isFixed) this.#fixedLists.set(target.server, tools);
    else this.#lists.put(key, target.tenantKey, version, tools);
    return tools;
  }

  /**
   * Runs `work` with a connection. If it fails the connection is closed, which ends the call, and the next use opens another.
   * @throws whatever opening or `work` throws; the reason of `signal`
   */
  async use<T>(target: ToolTarget, signal: AbortSignal, work: (connection: ToolConnection) => Promise<T>): Promise<T> {
    const entry = await this.#take(target, signal);
    try {
      return await work(await unlessAborted(entry.opening, signal));
    } catch (error) {
      if (entry.connection) void this.#remove(entry);
      throw error;
    } finally {
      this.#release(entry);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { waiting } of Object.values(this.#pools)) for (const { reject } of waiting.clear()) reject(ending());
    await Promise.all([...this.#entries.values()].map((entry) => this.#remove(entry)));
  }

  #isFixed({ tenant, server }: ToolTarget): boolean {
    return tenant.environment === 'test' || catalogue[server].live.kind === 'local';
  }

  /** Counts the user at once: a connection without users may be closed to make room before the caller continues. */
  async #take(target: ToolTarget, signal: AbortSignal): Promise<Entry> {
    signal.throwIfAborted();
    if (this.#isClosed) throw ending();
    const { waiting } = this.#pools[weightOf(target)];
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    const request: Waiting = { target, resolve, reject };
    const giveUp = () => {
      waiting.remove(target.tenantKey, request);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    waiting.push(target.tenantKey, request);
    this.#assign(weightOf(target));
    return promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  /** Gives connections to the requests that wait, as long as there is room. */
  #assign(weight: Weight): void {
    const { waiting } = this.#pools[weight];
    for (;;) {
      let counts: Map<TenantKey | undefined, Counts> | undefined;
      const next = waiting.take((key, { target }) => {
        counts ??= this.#count(weight);
        return this.#canTake(target, counts.get(key), counts.get(undefined));
      });
      if (!next) return;
      next.resolve(this.#takeNow(next.target));
    }
  }

  /** Those of each organization, and of all under undefined. */
  #count(weight: Weight): Map<TenantKey | undefined, Counts> {
    const counts = new Map<TenantKey | undefined, Counts>();
    for (const entry of this.#entries.values()) {
      if (entry.weight !== weight) continue;
      for (const key of [entry.organization, undefined]) {
        const { all, idle } = counts.get(key) ?? { all: 0, idle: 0 };
        counts.set(key, { all: all + 1, idle: idle + (entry.users === 0 ? 1 : 0) });
      }
    }
    return counts;
  }

  /** Whether it has a connection, to be used or replaced, or there is room for one more once an idle one is closed. */
  #canTake(target: ToolTarget, own: Counts | undefined, every: Counts | undefined): boolean {
    const { perOrganization, perProcess } = this.#limits;
    const weight = weightOf(target);
    const hasRoom = (counts: Counts | undefined, max: number) => !counts || counts.all < max || counts.idle > 0;
    const fits = hasRoom(own, perOrganization[weight]) && hasRoom(every, perProcess[weight]);
    return fits || this.#entries.has(keyOf(target));
  }

  #takeNow(target: ToolTarget): Entry {
    const key = keyOf(target);
    const known = this.#entries.get(key);
    if (known && (!known.connection || known.connection.isOpen)) return this.#use(known);
    if (known) void this.#close(known);
    // A connection with an earlier configuration is no longer useful.
    for (const entry of this.#entries.values()) {
      if (entry.place === placeOf(target) && entry.users === 0) void this.#close(entry);
    }
    this.#makeRoom(target);
    return this.#use(this.#add(target, key));
  }

  /** Counts one more user of a connection. */
  #use(entry: Entry): Entry {
    entry.users++;
    entry.endUse ??= this.#pools[entry.weight].used.begin(entry.organization);
    clearTimeout(entry.idle);
    return entry;
  }

  #release(entry: Entry): void {
    entry.users--;
    entry.usedAt = performance.now();
    if (entry.users === 0) {
      entry.endUse?.();
      entry.endUse = undefined;
      this.#letIdle(entry);
    }
    this.#assign(entry.weight);
  }

  /** Closes idle connections until one more fits. */
  #makeRoom(target: ToolTarget): void {
    const weight = weightOf(target);
    const alike = () => [...this.#entries.values()].filter((entry) => entry.weight === weight);
    const own = () => alike().filter(({ organization }) => organization === target.tenantKey);
    const { perOrganization, perProcess } = this.#limits;
    const makeRoomAmong = (entries: () => Entry[], maxEntries: number) => {
      while (entries().length >= maxEntries) {
        const idle = entries().filter(({ users }) => users === 0);
        const oldest = idle.toSorted((one, other) => one.usedAt - other.usedAt)[0];
        if (!oldest) return;
        void this.#close(oldest);
      }
    };
    makeRoomAmong(own, perOrganization[weight]);
    makeRoomAmong(alike, perProcess[weight]);
  }

  #add(target: ToolTarget, key: ConnectionKey): Entry {
    const opening = this.#open(target, AbortSignal.timeout(this.#limits.listMs));
    const entry: Entry = {
      key,
      place: placeOf(target),
      organization: target.tenantKey,
      weight: weightOf(target),
      opening,
      connection: undefined,
      users: 0,
      endUse: undefined,
      usedAt: performance.now(),
      idle: undefined,
    };
    this.#entries.set(key, entry);
    opening.then(
      (connection) => {
        entry.connection = connection;
        // One that was removed while it was being opened is closed by what removed it.
        if (entry.users === 0) this.#letIdle(entry);
      },
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
        this.#assign(entry.weight);
      },
    );
    return entry;
  }

  #letIdle(entry: Entry): void {
    if (this.#entries.get(entry.key) !== entry) return;
    clearTimeout(entry.idle);
    entry.idle = setTimeout(() => {
      if (entry.users === 0) void this.#remove(entry);
    }, this.#limits.idleMs);
    entry.idle.unref();
  }

  /** Closes a connection, and gives its place to a request that waits. */
  #remove(entry: Entry): Promise<void> {
    const closed = this.#close(entry);
    this.#assign(entry.weight);
    return closed;
  }

  async #close(entry: Entry): Promise<void> {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    clearTimeout(entry.idle);
    try {
      await (entry.connection ?? (await entry.opening)).close();
    } catch (error) {
      this.#log.debug({ err: error }, 'a connection to a tool server did not close by itself');
    }
  }
}
