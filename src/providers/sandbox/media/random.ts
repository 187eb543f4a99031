/** A source of numbers that is the same for the same seed, on every machine. */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** From `low` up to `high`. */
  between(low: number, high: number): number;
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** @param seed hex digits, at least 32: a SHA-256. The generator is sfc32. */
export function randomFrom(seed: string): Random {
  let [a, b, c, counter] = [0, 8, 16, 24].map((at) => Number.parseInt(seed.slice(at, at + 8), 16) | 0) as [
    number,
    number,
    number,
    number,
  ];
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let times = 0; times < 12; times++) next();
  const between = (low: number, high: number) => low + next() * (high - low);
  const whole = (low: number, high: number) => Math.floor(between(low, high + 1));
  return { next, between, whole, pick: (items) => items[whole(0, items.length - 1)]! };
}
