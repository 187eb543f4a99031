import { JsonBounds, type JsonExcess, type JsonLimits } from './bounded-json.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;

/** Lines of one event that are more than anybody writes. */
const maxLinesPerEvent = 16;

/**
 * Counts the events of an event stream as its bytes arrive, comments and empty lines included: each is work for its
 * reader, and a stream within its limit of bytes can have millions. Each event is bounded as a text of JSON.
 */
export class EventBounds {
  readonly #max: number;
  readonly #json: JsonBounds;
  #events = 0;
  #lines = 0;
  /** The first byte of the line that is being read; undefined at its beginning. */
  #first: number | undefined;
  #afterReturn = false;

  /**
   * @param maxEvents of the stream
   * @param limits of one event
   */
  constructor(maxEvents: number, limits: JsonLimits) {
    this.#max = maxEvents;
    this.#json = new JsonBounds(limits);
  }

  /** @returns which limit the stream exceeds; undefined while it exceeds none */
  add(bytes: Uint8Array): JsonExcess | 'too_many_events' | undefined {
    let begin = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      const isEnd = byte === carriageReturn || (byte === lineFeed && !this.#afterReturn);
      if (isEnd) {
        this.#lines++;
        if (this.#first === undefined || this.#first === colon) this.#events++;
        if (this.#first === undefined) {
          const excess = this.#json.add(bytes.subarray(begin, at));
          if (excess) return excess;
          this.#json.restart();
          begin = at;
        }
        this.#first = undefined;
      } else if (byte !== lineFeed) this.#first ??= byte;
      this.#afterReturn = byte === carriageReturn;
    }
    if (this.#events > this.#max || this.#lines > this.#max * maxLinesPerEvent) return 'too_many_events';
    return this.#json.add(begin === 0 ? bytes : bytes.subarray(begin));
  }
}
