import { InvalidArgumentError } from 'commander';

/** Reads `--limit`. @throws InvalidArgumentError */
export function readLimit(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 1 to 9999.');
  return Number(text);
}
