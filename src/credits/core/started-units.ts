const thousandths = 1_000;

/**
 * The number of started units: 10 seconds are one unit of 10, 10.001 seconds are two. Lengths are rounded to
 * thousandths, so that measurement noise has no price.
 * @throws RangeError for an invalid length
 */
export function startedUnits(amount: number, unit: number): number {
  if (!(amount >= 0 && amount <= Number.MAX_SAFE_INTEGER / thousandths)) {
    throw new RangeError(`Not an amount that has a price: ${amount}`);
  }
  return Math.ceil(Math.round(amount * thousandths) / (unit * thousandths));
}
