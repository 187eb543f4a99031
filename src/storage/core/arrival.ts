/** The bytes that a server must send, and the number of checks within which it must. */
interface ArrivalRule {
  /** Looks until the first byte. */
  silentLooks: number;
  /** After that, in so many looks … */
  window: number;
  /** … at least so many bytes. */
  bytes: number;
}

/**
 * Whether a file arrives fast enough. It is looked at in regular intervals. Looks are counted and not milliseconds, so that
 * a process which stood still does not take that for the fault of the server.
 */
export class Arrival {
  readonly #rule: ArrivalRule;
  #looks = 0;
  #received = 0;
  /** The bytes received at each of the last checks since the first byte. */
  #seen: number[] = [];

  constructor(rule: ArrivalRule) {
    this.#rule = rule;
  }

  add(bytes: number): void {
    this.#received += bytes;
  }

  /** @returns what is wrong, if anything */
  look(): 'silent' | 'slow' | undefined {
    const { silentLooks, window, bytes } = this.#rule;
    if (this.#received === 0) return ++this.#looks >= silentLooks ? 'silent' : undefined;
    const before = this.#seen.length === window ? this.#seen.shift() : undefined;
    this.#seen.push(this.#received);
    return before !== undefined && this.#received - before < bytes ? 'slow' : undefined;
  }
}
