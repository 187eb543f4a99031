import canonicalize from 'canonicalize';
import { cleaned } from '../../src/platform/core/clean-text.ts';

/**
 * Signatures that a fake gives its answers. A history is accepted only if each answer in it is as it was given, and in the
 * order in which they were.
 */
export class Signatures {
  /** The order of names in an object says nothing. */
  readonly #signed: unknown[] = [];

  /** @param said what the signature is for */
  sign(said: unknown): string {
    this.#signed.push(canonicalize(cleaned(said)));
    return Buffer.from(`signature ${this.#signed.length - 1}`).toString('base64');
  }

  #placeOf(signature: string): number {
    return Number(/^signature (\d+)$/.exec(Buffer.from(String(signature), 'base64').toString())?.[1] ?? -1);
  }

  /** Whether these were signed like this, one after the other. */
  accept(history: { signature: string; said: unknown }[]): boolean {
    let last = -1;
    return history.every(({ signature, said }) => {
      const place = this.#placeOf(signature);
      const isNext = place > last;
      last = place;
      return isNext && this.#signed[place] === canonicalize(cleaned(said));
    });
  }
}
