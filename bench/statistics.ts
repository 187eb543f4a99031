/** The value below which the share `at` (0 to 1) of the values lies, by nearest rank. */
export function percentile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(at * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new Error('A percentile needs at least one value.');
  return value;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const above = sorted[middle];
  if (above === undefined) throw new Error('A median needs at least one value.');
  return sorted.length % 2 === 1 ? above : (sorted[middle - 1]! + above) / 2;
}
