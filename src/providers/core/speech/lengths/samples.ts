/** A file that says a thing twice, or has more than can be read: players would not agree about it. */
export class Unmeasurable extends Error {}

/** A piece of sound that is decoded as a whole. */
export interface Sample {
  /** Where its bytes are in the file. */
  at: number;
  /** In bytes. */
  size: number;
}

/** The samples of a track. Those of a long recording are too many to be kept. */
export interface Samples {
  count: number;
  /** The size of all samples together. */
  bytes: number;
  /** @throws Unmeasurable after `maxSamples` */
  [Symbol.iterator](): Iterator<Sample>;
}

/** More samples than half an hour of any format has that is read sample by sample. */
export const maxSamples = 1_000_000;

/** Samples that are collected one by one. */
export class CollectedSamples implements Samples {
  readonly #at: number[] = [];
  readonly #sizes: number[] = [];
  bytes = 0;

  get count(): number {
    return this.#at.length;
  }

  /** @throws Unmeasurable after `maxSamples` */
  add(at: number, size: number): void {
    if (this.count >= maxSamples) throw new Unmeasurable();
    this.#at.push(at);
    this.#sizes.push(size);
    this.bytes += size;
  }

  *[Symbol.iterator](): Generator<Sample> {
    for (const [index, at] of this.#at.entries()) yield { at, size: this.#sizes[index]! };
  }
}
