/** Values that the sandbox answers with. They derive from the seed, so that the same request has the same answer. */

/** A number of `length` digits, without a zero at its beginning. @param seed hexadecimal, of at least 32 characters */
export function digitsOf(seed: string, length: number): string {
  const digits = BigInt(`0x${seed}`).toString().slice(0, length).padEnd(length, '0');
  return digits.replace(/^0/, '1');
}

const firstMs = Date.UTC(2026, 0, 1);

/** A moment of the year 2026. */
export const momentOf = (seed: string): Date =>
  new Date(firstMs + (Number.parseInt(seed.slice(0, 8), 16) % (365 * 86_400)) * 1_000);
