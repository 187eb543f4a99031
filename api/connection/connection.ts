import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ReadGate } from './read-gate.ts';
import type { SlowConnection, WaitingBytes } from './waiting-bytes.ts';

/** Each from its head until its answer was handed to the socket. */
const maxRequestsUnderWay = 16;

/** How long a connection is still read after its last answer. */
const lingerMs = 1_000;

/** An answer that knows what its client has not taken of it. */
type CountedAnswer = Pick<ServerResponse, 'socket' | 'once'> & { readonly waitingBytes: number };

/** The owner of connections whose callers have no key. */
const withoutKey = '';

/**
 * A client's connection. Its requests begin one after the other, as the client reads the answers: of requests that were
 * sent ahead only the heads are in memory. RFC 9112 (9.3.2) allows concurrency only for safe methods.
 */
export class Connection implements SlowConnection {
  readonly #socket: Socket;
  readonly #waitingBytes: WaitingBytes;
  readonly #gate: ReadGate;
  /** Requests that have not begun. */
  readonly #queue: { answer: CountedAnswer; begin: () => void }[] = [];
  #current: CountedAnswer | undefined;
  #owner = withoutKey;
  /** Bytes that the operating system has taken, when they were last looked at. */
  #taken = 0;
  #isWaiting = false;
  /** The next request begins in the coming round of the event loop. */
  #isScheduled = false;

  constructor(socket: Socket, waitingBytes: WaitingBytes) {
    this.#socket = socket;
    this.#waitingBytes = waitingBytes;
    this.#gate = new ReadGate(socket, () => maxRequestsUnderWay - this.#queue.length - (this.#current ? 1 : 0));
    socket.on('drain', () => this.measure());
    socket.once('close', () => {
      this.#queue.length = 0;
      this.#waitingBytes.set(this, this.#owner, 0, false);
    });
  }

  /** No request is under way or waits. */
  get isIdle(): boolean {
    return this.#current === undefined && this.#queue.length === 0;
  }

  /** Begins a request when the answers to those before it were handed to the socket. */
  accept(answer: CountedAnswer, begin: () => void): void {
    if (this.#current || this.#isScheduled) {
      this.#queue.push({ answer, begin });
      return;
    }
    this.#begin(answer, begin);
  }

  /** The organization whose limit counts the bytes of the current answer, once it is known. */
  belongsTo(organizationId: string): void {
    this.#owner = organizationId;
    if (this.#isWaiting) this.measure();
  }

  /** Counts the bytes that wait. To be called when something was written. */
  measure(): void {
    const { bytesWritten, writableLength } = this.#socket;
    const bytes = this.#current?.waitingBytes ?? writableLength;
    if (bytes === 0 && !this.#isWaiting) return;
    const taken = bytesWritten - writableLength;
    const hasTaken = taken > this.#taken;
    this.#taken = taken;
    this.#isWaiting = bytes > 0;
    this.#waitingBytes.set(this, this.#owner, bytes, hasTaken);
  }

  close(): void {
    this.#socket.destroy();
  }

  /**
   * Lets the client read the answer before the connection is closed, although it still sends: its data is discarded for
   * a while. A connection that is closed with unread bytes is reset, and the client sees that in place of the answer
   * (RFC 9112, 9.6).
   */
  lingerAtEnd(): void {
    const socket = this.#socket;
    let isEnding = false;
    socket.destroySoon = () => {
      if (isEnding) return;
      isEnding = true;
      socket.end();
      const timer = setTimeout(() => socket.destroy(), lingerMs);
      socket.once('close', () => clearTimeout(timer));
    };
  }

  #begin(answer: CountedAnswer, begin: () => void): void {
    this.#current = answer;
    this.#owner = withoutKey;
    answer.once('close', () => this.#next());
    begin();
  }

  /**
   * One request of those that were sent ahead begins in a round of the event loop. Otherwise instant requests would
   * follow each other without a pause, and other connections would wait for all of them.
   */
  #next(): void {
    this.#current = undefined;
    this.measure();
    if (this.#queue.length === 0 && !this.#gate.hasBacklog) return;
    this.#isScheduled = true;
    setImmediate(() => this.#beginNext());
  }

  #beginNext(): void {
    this.#isScheduled = false;
    const next = this.#queue.shift();
    // After an answer that closes the connection the others are never sent, so their requests do not begin.
    if (next?.answer.socket && this.#socket.writable) this.#begin(next.answer, next.begin);
    this.#gate.release();
  }
}

const connections = new WeakMap<Socket, Connection>();

/** To be called for each connection of a server. */
export function openConnection(socket: Socket, waitingBytes: WaitingBytes): void {
  connections.set(socket, new Connection(socket, waitingBytes));
}

/** The connection that a request came on. */
export const connectionOf = ({ socket }: Pick<IncomingMessage, 'socket'>): Connection | undefined =>
  connections.get(socket);
