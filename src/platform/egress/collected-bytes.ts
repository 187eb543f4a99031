/**
 * A piece costs as much of the main thread as some kilobytes, however small it is. Peers send pieces of a kilobyte and
 * more; beyond the first few these may be small only as an exception.
 */
const smallPieces = { allowed: 2_000, averageBytes: 64 };

/** Counts the pieces in which something arrives. */
export class PieceCount {
  readonly #allowed: number;
  #pieces = 0;
  #bytes = 0;

  /** @param allowed small pieces: 2,000 unless given */
  constructor(allowed = smallPieces.allowed) {
    this.#allowed = allowed;
  }

  /** @returns whether more may follow: false once it has come in too many small pieces */
  add(bytes: number): boolean {
    this.#pieces++;
    this.#bytes += bytes;
    return this.#pieces <= this.#allowed || this.#bytes >= this.#pieces * smallPieces.averageBytes;
  }
}

const firstBytes = 4_096;

/** Bytes as they arrive, in one buffer that grows: a piece of its own would take hundreds of bytes for each byte. */
export class CollectedBytes {
  #buffer = Buffer.alloc(0);
  size = 0;

  add(piece: Uint8Array): void {
    const end = this.size + piece.byteLength;
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, this.#buffer.length * 2, firstBytes));
      this.#buffer.copy(larger, 0, 0, this.size);
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.size);
    this.size = end;
  }

  /** The collected bytes. They are not copied. */
  bytes(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.size);
  }
}
