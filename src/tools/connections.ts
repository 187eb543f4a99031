import { unlessAborted } from '../platform/concurrency/deadline.ts';
import type { Scope } from '../platform/database/scope.ts';
import type { Log } from '../platform/observability/log.ts';
import type { EnvironmentKey, TenantKey } from '../platform/security/tenant-key.ts';
import { catalogue } from './catalogue.ts';
import type { StoredConfiguration } from './configurations.ts';
import type { ToolServerId } from './core/server-ids.ts';
import type { ToolLimits } from './limits.ts';
import type { ListedTool, ToolConnection } from './tool.ts';

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
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
}

const placeOf = ({ environmentKey, server }: ToolTarget): ServerKey => `${environmentKey}/${server}`;
const versionOf = ({ configuration }: ToolTarget): string => `${configuration?.version ?? ''}`;
const keyOf = (target: ToolTarget): ConnectionKey => `${placeOf(target)}/${versionOf(target)}`;
const weightOf = ({ server }: ToolTarget): Weight => (catalogue[server].live.kind === 'local' ? 'local' : 'remote');

/** Counts one more user of a connection. */
function used(entry: Entry): Entry {
  entry.users++;
  clearTimeout(entry.idle);
  return entry;
}

/**
 * Connections to tool servers: opened on demand, kept while they are used, and closed when they are idle or broken.
 * Their number is bounded for each organization and for this process. Idle connections make room for new ones.
 */
export class ToolConnections {
  readonly #open: OpenConnection;
  readonly #limits: ToolLimits;
  readonly #log: Log;
  readonly #entries = new Map<ConnectionKey, Entry>();
  /**
   * Those of the latest version of a configuration. Also by the server alone, where its tools are the same for everybody.
   */
  readonly #lists = new Map<ServerKey | ToolServerId, { tools: ListedTool[]; version: string; until: number }>();
  #released = Promise.withResolvers<void>();
  #isClosed = false;

  constructor({ open, limits, log }: { open: OpenConnection; limits: ToolLimits; log: Log }) {
    this.#open = open;
    this.#limits = limits;
    this.#log = log;
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
    const key = isFixed ? target.server : placeOf(target);
    const version = isFixed ? '' : versionOf(target);
    const known = this.#lists.get(key);
    if (known?.version === version && known.until > Date.now()) return known.tools;
    const tools = await this.use(target, signal, (connection) => connection.list(signal));
    for (const [old, { until }] of this.#lists) if (until <= Date.now()) this.#lists.delete(old);
    const until = isFixed ? Number.POSITIVE_INFINITY : Date.now() + this.#limits.listedMs;
    this.#lists.set(key, { tools, version, until });
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
      entry.users--;
      entry.usedAt = performance.now();
      if (entry.users === 0) this.#letIdle(entry);
      this.#announceRelease();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#entries.values()].map((entry) => this.#remove(entry)));
  }

  #isFixed({ tenant, server }: ToolTarget): boolean {
    return tenant.environment === 'test' || catalogue[server].live.kind === 'local';
  }

  /** Counts the user at once: a connection without users may be closed to make room before the caller continues. */
  async #take(target: ToolTarget, signal: AbortSignal): Promise<Entry> {
    const key = keyOf(target);
    for (;;) {
      signal.throwIfAborted();
      if (this.#isClosed) throw new Error('The process is ending.');
      const known = this.#entries.get(key);
      if (known && (!known.connection || known.connection.isOpen)) return used(known);
      if (known) void this.#remove(known);
      // A connection with an earlier configuration is no longer useful.
      for (const entry of this.#entries.values()) {
        if (entry.place === placeOf(target) && entry.users === 0) void this.#remove(entry);
      }
      if (this.#makeRoom(target)) return used(this.#add(target, key));
      await unlessAborted(this.#released.promise, signal);
    }
  }

  /** Closes idle connections until one more fits. @returns false if all open connections are in use */
  #makeRoom(target: ToolTarget): boolean {
    const weight = weightOf(target);
    const alike = () => [...this.#entries.values()].filter((entry) => entry.weight === weight);
    const own = () => alike().filter(({ organization }) => organization === target.tenantKey);
    const { perOrganization, perProcess } = this.#limits;
    const makeRoomAmong = (entries: () => Entry[], maxEntries: number) => {
      while (entries().length >= maxEntries) {
        const idle = entries().filter(({ users }) => users === 0);
        const oldest = idle.toSorted((one, other) => one.usedAt - other.usedAt)[0];
        if (!oldest) return false;
        void this.#remove(oldest);
      }
      return true;
    };
    return makeRoomAmong(own, perOrganization[weight]) && makeRoomAmong(alike, perProcess[weight]);
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
      usedAt: performance.now(),
      idle: undefined,
    };
    this.#entries.set(key, entry);
    opening.then(
      (connection) => {
        entry.connection = connection;
        // It was removed while it was being opened.
        if (this.#entries.get(key) !== entry) void connection.close();
        else if (entry.users === 0) this.#letIdle(entry);
      },
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
        this.#announceRelease();
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

  async #remove(entry: Entry): Promise<void> {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    clearTimeout(entry.idle);
    this.#announceRelease();
    try {
      await (entry.connection ?? (await entry.opening)).close();
    } catch (error) {
      this.#log.debug({ err: error }, 'a connection to a tool server did not close by itself');
    }
  }

  #announceRelease(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }
}
