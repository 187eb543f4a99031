/** A connection whose client has not taken all the bytes that were written to it. */
export interface SlowConnection {
  close(): void;
}

interface Waiting {
  owner: string;
  bytes: number;
  /** When its client last took something. */
  takenAt: number;
}

interface Owner {
  bytes: number;
  /** The connection whose client has taken nothing for the longest time is first. */
  connections: Set<SlowConnection>;
}

interface WaitingBytesPolicy {
  /** Maximum over all connections of an organization, and over all callers without a key. */
  maxBytesPerOwner: number;
  /** How long a client may take nothing. */
  maxStallMs: number;
}

const maxSweepMs = 5_000;

/**
 * Counts the bytes that wait in memory until clients take them. An answer is written as fast as possible and read at
 * the speed of its client, so without a limit its client decides how much memory it costs. Above the limit of an
 * organization, the connection whose client has taken nothing for the longest time is closed.
 */
export class WaitingBytes {
  readonly #policy: WaitingBytesPolicy;
  readonly #closed: (reason: 'stalled' | 'too_many_bytes', owner: string) => void;
  readonly #now: () => number;
  /** In the order in which their clients last took something. */
  readonly #waiting = new Map<SlowConnection, Waiting>();
  readonly #owners = new Map<string, Owner>();
  readonly #timer: NodeJS.Timeout;

  /** @param closed is called for each connection that is closed */
  constructor(
    policy: WaitingBytesPolicy,
    closed: (reason: 'stalled' | 'too_many_bytes', owner: string) => void,
    now: () => number = performance.now.bind(performance),
  ) {
    this.#policy = policy;
    this.#closed = closed;
    this.#now = now;
    this.#timer = setInterval(() => this.closeStalled(), Math.min(maxSweepMs, policy.maxStallMs / 4)).unref();
  }

  /** How many bytes wait, of all owners. */
  get bytes(): number {
    let total = 0;
    for (const owner of this.#owners.values()) total += owner.bytes;
    return total;
  }

  /**
   * To be called when the number of bytes that wait for a connection has changed.
   * @param hasTaken whether its client took some of them
   */
  set(connection: SlowConnection, owner: string, bytes: number, hasTaken: boolean): void {
    const before = this.#waiting.get(connection);
    if (bytes === 0) {
      if (before) this.#remove(connection, before);
      return;
    }
    const isLater = !before || hasTaken || before.owner !== owner;
    if (before && isLater) this.#remove(connection, before);
    const waiting = isLater ? { owner, bytes: 0, takenAt: this.#now() } : before;
    if (isLater) this.#waiting.set(connection, waiting);
    const of = this.#ownerOf(owner);
    of.connections.add(connection);
    of.bytes += bytes - waiting.bytes;
    waiting.bytes = bytes;
    this.#closeSlowest(owner, of);
  }

  /** Closes the connections whose clients have taken nothing for too long. */
  closeStalled(): void {
    const since = this.#now() - this.#policy.maxStallMs;
    for (const [connection, { owner, takenAt }] of this.#waiting) {
      if (takenAt > since) return;
      this.#close(connection, 'stalled', owner);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #closeSlowest(name: string, owner: Owner): void {
    for (const connection of owner.connections) {
      if (owner.bytes <= this.#policy.maxBytesPerOwner) return;
      this.#close(connection, 'too_many_bytes', name);
    }
  }

  #close(connection: SlowConnection, reason: 'stalled' | 'too_many_bytes', owner: string): void {
    const waiting = this.#waiting.get(connection);
    if (waiting) this.#remove(connection, waiting);
    connection.close();
    this.#closed(reason, owner);
  }

  #remove(connection: SlowConnection, { owner, bytes }: Waiting): void {
    this.#waiting.delete(connection);
    const of = this.#ownerOf(owner);
    of.connections.delete(connection);
    of.bytes -= bytes;
    if (of.connections.size === 0) this.#owners.delete(owner);
  }

  #ownerOf(name: string): Owner {
    let owner = this.#owners.get(name);
    if (!owner) {
      owner = { bytes: 0, connections: new Set() };
      this.#owners.set(name, owner);
    }
    return owner;
  }
}
