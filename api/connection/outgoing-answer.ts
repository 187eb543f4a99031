import { type IncomingMessage, ServerResponse } from 'node:http';
import { connectionOf } from './connection.ts';

/** Larger bodies are written in pieces of this size, each when the one before it was taken. */
export const pieceBytes = 64 * 1024;

/** Bodies that are in memory anyway, whether a client reads them or not. */
const sharedBodies = new WeakSet<Uint8Array>();

/** Marks a body that is cached for every caller: its waiting bytes take no memory for a single reader. */
export function shareBody<Body extends Uint8Array>(body: Body): Body {
  sharedBodies.add(body);
  return body;
}

type Chunk = string | Uint8Array;

/**
 * An answer whose bytes are written to the socket only as fast as its client takes them, and are counted while they
 * wait.
 */
export class OutgoingAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** The rest of a large body. */
  #rest: Buffer | undefined;
  #isShared = false;

  /** Bytes of this answer that are in memory because its client has not taken them. */
  get waitingBytes(): number {
    return this.writableLength + (this.#rest && !this.#isShared ? this.#rest.length : 0);
  }

  override write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean {
    const isTaken = super.write(chunk, encoding as BufferEncoding, callback as () => void);
    this.#measure();
    return isTaken;
  }

  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    const isBody = typeof chunk === 'string' || chunk instanceof Uint8Array;
    // A character takes at most three bytes.
    if (isBody && chunk.length * 3 > pieceBytes && this.req.method !== 'HEAD') {
      this.#sendInPieces(chunk, encoding as BufferEncoding | undefined);
    } else {
      super.end(chunk, encoding as BufferEncoding, callback as () => void);
    }
    this.#measure();
    return this;
  }

  #sendInPieces(body: Chunk, encoding: BufferEncoding | undefined): void {
    this.#isShared = typeof body !== 'string' && sharedBodies.has(body);
    this.#rest =
      typeof body === 'string'
        ? Buffer.from(body, encoding)
        : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (!this.headersSent && !this.hasHeader('content-length')) this.setHeader('Content-Length', this.#rest.length);
    this.#sendRest();
  }

  #sendRest(): void {
    while (this.#rest && !this.destroyed) {
      const piece = this.#rest.subarray(0, pieceBytes);
      this.#rest = piece.length < this.#rest.length ? this.#rest.subarray(pieceBytes) : undefined;
      if (!this.#rest) super.end(piece);
      else if (!super.write(piece)) {
        this.once('drain', () => {
          this.#sendRest();
          this.#measure();
        });
        return;
      }
    }
  }

  #measure(): void {
    connectionOf(this.req)?.measure();
  }
}
