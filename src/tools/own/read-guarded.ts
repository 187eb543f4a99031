import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import type pg from 'pg';
import { CollectedBytes } from '../../platform/egress/collected-bytes.ts';
import { AnswerTooLarge, ToolFailure } from '../tool.ts';

/** The type of a message, and its length, which counts itself and the body. */
const headBytes = 5;

const types = { error: 'E'.charCodeAt(0), notice: 'N'.charCodeAt(0), row: 'D'.charCodeAt(0) } as const;

const unreadable = (cause?: unknown) => new ToolFailure('The database does not answer as PostgreSQL does.', { cause });

/** The fields of an error or a notice: each is a type and a text that a zero ends, and a zero is behind the last one. */
function areFields(body: Buffer): boolean {
  let at = 0;
  while (at < body.length && body[at] !== 0) {
    const end = body.indexOf(0, at + 1);
    if (end === -1) return false;
    at = end + 1;
  }
  return at < body.length;
}

/** The values of a row: each behind its length, which is -1 for null. @throws RangeError for a body that ends too early */
function areValues(body: Buffer): boolean {
  let at = 2;
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const length = body.readInt32BE(at);
    if (length < -1) return false;
    at += 4 + Math.max(0, length);
  }
  return at === body.length;
}

/** Whether the client comes to the end of a message. Of others than these it reads numbers, and throws at their end. */
function canBeRead(type: number, body: Buffer): boolean {
  if (type === types.error || type === types.notice) return areFields(body);
  return type !== types.row || areValues(body);
}

/** Divides what a server sends into its messages. */
class Messages {
  readonly #maxBytes: number;
  /** The beginning of a message. */
  #rest = new CollectedBytes();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns those that are whole now, each in bytes of its own. @throws Error for one that must not be read */
  *add(piece: Uint8Array): Generator<Buffer> {
    this.#rest.add(piece);
    const bytes = this.#rest.bytes();
    let at = 0;
    while (at + headBytes <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1);
      if (end < at + headBytes) throw unreadable();
      if (end - at > this.#maxBytes) throw new AnswerTooLarge(this.#maxBytes);
      if (end > bytes.length) break;
      if (!canBeRead(bytes[at]!, bytes.subarray(at + headBytes, end))) throw unreadable();
      yield bytes.subarray(at, end);
      at = end;
    }
    if (at === 0) return;
    this.#rest = new CollectedBytes();
    this.#rest.add(bytes.subarray(at));
  }
}

/**
 * Has a client end its connection at the first message that it cannot read, and gives it nothing besides whole messages.
 * To be called before it connects to a server that is not ours. The client takes the word of every length: it throws in
 * a listener, where an exception would end this process; it looks for the end of a text where there is none; it reads a
 * value again and again; and it reads beyond a message, where the memory of this process is.
 * @param maxBytes of one message
 */
export function guardReading(client: pg.Client, maxBytes: number): void {
  const { connection } = client as unknown as { connection: { attachListeners(stream: EventEmitter): void } };
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    const messages = new Messages(maxBytes);
    const whole = new EventEmitter();
    attach(whole);
    stream.on('data', (piece: Buffer) => {
      try {
        for (const message of messages.add(piece)) whole.emit('data', message);
      } catch (error) {
        (stream as Duplex).destroy(error instanceof ToolFailure ? error : unreadable(error));
      }
    });
  };
}
