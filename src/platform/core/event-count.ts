const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;

/** Lines of one event that are more than anybody writes. */
const maxLinesPerEvent = 16;

/**
 * Counts the events of an event stream as its bytes arrive, comments and empty lines included: each is work for who reads
 * it, and a stream within its limit of bytes can have millions.
 */
export class EventCount {
  readonly #max: number;
  #events = 0;
  #lines = 0;
  /** The first byte of the line that is being read; undefined at its beginning. */
  #first: number | undefined;
  #afterReturn = false;

  /** @param max events of the stream */
  constructor(max: number) {
    this.#max = max;
  }

  /** @returns whether the stream still has at most as many events as it may */
  add(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      const isEnd = byte === carriageReturn || (byte === lineFeed && !this.#afterReturn);
      if (isEnd) {
        this.#lines++;
        if (this.#first === undefined || this.#first === colon) this.#events++;
        this.#first = undefined;
      } else if (byte !== lineFeed) this.#first ??= byte;
      this.#afterReturn = byte === carriageReturn;
    }
    return this.#events <= this.#max && this.#lines <= this.#max * maxLinesPerEvent;
  }
}
