import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startedUnits } from './started-units.ts';

const units = [1, 10, 60, 1_000];

describe('a started unit is a whole one', () => {
  test.each(units)('of %d: no part of a unit is free or counts as more than one', (unit) => {
    const amounts = fc.integer({ min: 1, max: 10_000_000 }).map((thousandths) => thousandths / 1_000);
    fc.assert(
      fc.property(amounts, amounts, (one, other) => {
        const started = startedUnits(one, unit);
        expect(Number.isInteger(started)).toBe(true);
        expect(started * unit).toBeGreaterThanOrEqual(one);
        expect((started - 1) * unit).toBeLessThan(one);
        // More is never fewer units, and two parts are never fewer than the whole.
        expect(startedUnits(Math.max(one, other), unit)).toBeGreaterThanOrEqual(started);
        expect(started + startedUnits(other, unit)).toBeGreaterThanOrEqual(startedUnits(one + other, unit));
      }),
    );
  });

  test.each(units)('of %d: noise of measuring does not start another', (unit) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: -1e-7, max: 1e-7, noNaN: true }),
        (count, noise) => {
          expect(startedUnits(count * unit + noise, unit)).toBe(count);
        },
      ),
    );
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])('%d is no amount that has a price', (amount) => {
    expect(() => startedUnits(amount, 60)).toThrow(RangeError);
  });
});
