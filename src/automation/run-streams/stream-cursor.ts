import { invalid } from '../../platform/errors.ts';

/** How long a stream can be resumed after an event. */
const resumableMs = 3_600_000;
/** How much later than its time an event may become visible: steps that answer at once are recorded together. */
const visibleWithinMs = 60_000;
/** Runs whose events are counted in a cursor. */
const maxCounted = 100;

const timeBytes = 6;
const idBytes = 6;
const countBytes = 3;
const entryBytes = idBytes + countBytes;

/** The random end of a run's id, which identifies it. */
const endOf = (runId: string): string => runId.slice(-2 * idBytes);

const malformed = () => invalid([{ path: 'Last-Event-ID', message: 'Expected the id of an event of this stream.' }]);
const tooOld = () => invalid([{ path: 'Last-Event-ID', message: 'The event is more than an hour old.' }]);

/**
 * How far a stream of many runs was read: up to a time, and of the runs with later events how many of their events. An event
 * can become visible after a later one of another run, so a time alone would lose some.
 */
export class StreamCursor {
  /** All events up to this time were sent, in ms since the epoch. */
  #since: number;
  #latest: number;
  /** By the end of its id: events of a run that were sent, and the time of the last one. The oldest entry is first. */
  readonly #counted = new Map<string, { count: number; at: number }>();

  private constructor(since: number) {
    this.#since = since;
    this.#latest = since;
  }

  /** For a stream that begins now. */
  static begin(now: number): StreamCursor {
    return new StreamCursor(now);
  }

  /** @throws AppError validation_error */
  static read(text: string, now: number): StreamCursor {
    const bytes = Buffer.from(text, 'base64url');
    const rest = bytes.length - timeBytes;
    if (bytes.toString('base64url') !== text || rest < 0 || rest % entryBytes !== 0 || rest / entryBytes > maxCounted) {
      throw malformed();
    }
    const cursor = new StreamCursor(bytes.readUIntBE(0, timeBytes));
    if (cursor.#since > now + visibleWithinMs) throw malformed();
    if (cursor.#since < now - resumableMs - visibleWithinMs) throw tooOld();
    for (let at = timeBytes; at < bytes.length; at += entryBytes) {
      const id = bytes.toString('hex', at, at + idBytes);
      cursor.#counted.set(id, { count: bytes.readUIntBE(at + idBytes, countBytes), at: cursor.#since });
    }
    return cursor;
  }

  get since(): Date {
    return new Date(this.#since);
  }

  /** Whether an event was sent. @param number of the event within its run */
  has(runId: string, number: number, at: Date): boolean {
    const counted = this.#counted.get(endOf(runId));
    return counted ? number <= counted.count : at.getTime() <= this.#since;
  }

  /** Counts an event as sent. @returns the cursor behind it */
  add(runId: string, count: number, at: Date): string {
    const id = endOf(runId);
    this.#latest = Math.max(this.#latest, at.getTime());
    this.#counted.delete(id);
    this.#counted.set(id, { count, at: this.#latest });
    for (const [oldest, entry] of this.#counted) {
      if (this.#counted.size <= maxCounted && entry.at > this.#latest - visibleWithinMs) break;
      this.#since = Math.max(this.#since, entry.at);
      this.#counted.delete(oldest);
    }
    return this.#write();
  }

  #write(): string {
    const bytes = Buffer.alloc(timeBytes + this.#counted.size * entryBytes);
    bytes.writeUIntBE(this.#since, 0, timeBytes);
    let at = timeBytes;
    for (const [id, { count }] of this.#counted) {
      bytes.write(id, at, 'hex');
      bytes.writeUIntBE(count, at + idBytes, countBytes);
      at += entryBytes;
    }
    return bytes.toString('base64url');
  }
}
