import type { Socket } from 'node:net';

const blankLine = Buffer.from('\r\n\r\n');
/** `GET / HTTP/1.1` and a blank line: so many bytes have at most one request in them. */
const minRequestBytes = 18;

/** How many bytes can be parsed without more than `heads` requests beginning in them. */
export function bytesOf(heads: number, chunk: Buffer): number {
  let end = 0;
  for (let left = heads; left > 0; left--) {
    const at = chunk.indexOf(blankLine, end);
    if (at === -1) return chunk.length;
    end = at + blankLine.length;
  }
  return Math.min(chunk.length, Math.max(end, heads * minRequestBytes));
}

/**
 * Gives the HTTP parser only those requests of a connection that may begin. The rest of the bytes waits here, and the
 * socket is not read meanwhile. Without it the parser would create an object for each of the thousands of requests that
 * one packet can have.
 */
export class ReadGate {
  readonly #socket: Socket;
  readonly #headsAllowed: () => number;
  readonly #push: Socket['push'];
  readonly #read: Socket['_read'];
  #backlog: Buffer | undefined;
  /** The parser has taken its input. */
  #isWanted = false;

  /** @param headsAllowed how many requests may begin now */
  constructor(socket: Socket, headsAllowed: () => number) {
    this.#socket = socket;
    this.#headsAllowed = headsAllowed;
    this.#push = socket.push.bind(socket);
    this.#read = socket._read.bind(socket);
    // With a listener Node reads the socket as a stream; otherwise the parser would take bytes from the operating system.
    socket.on('data', () => {
      if (this.#backlog) setImmediate(() => this.release());
    });
    socket.push = (chunk) => this.#take(chunk);
    socket._read = (size) => {
      if (!this.#backlog) return this.#read(size);
      this.#isWanted = true;
      this.release();
    };
  }

  /** Some bytes that were read have not been parsed. */
  get hasBacklog(): boolean {
    return this.#backlog !== undefined;
  }

  /** To be called when more requests may begin. */
  release(): void {
    if (!this.#isWanted || !this.#backlog || this.#socket.destroyed || this.#socket.readableLength > 0) return;
    const allowed = this.#headsAllowed();
    if (allowed <= 0) return;
    this.#isWanted = false;
    this.#give(this.#backlog, allowed);
  }

  /** @returns false where the socket is not to be read */
  #take(chunk: Buffer | null): boolean {
    if (chunk === null) return this.#push(null);
    const allowed = this.#headsAllowed();
    if (allowed > 0) return this.#give(chunk, allowed);
    this.#backlog = chunk;
    this.#isWanted = true;
    return false;
  }

  #give(chunk: Buffer, allowed: number): boolean {
    const length = bytesOf(allowed, chunk);
    this.#backlog = length < chunk.length ? chunk.subarray(length) : undefined;
    return this.#push(this.#backlog ? chunk.subarray(0, length) : chunk) && this.#backlog === undefined;
  }
}
