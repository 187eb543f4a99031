import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { priceOf, type Work } from './pricing.ts';

/** The published table, line by line. */
const published: [Work, number][] = [
  [{ operation: 'image', quality: 'standard' }, 1],
  [{ operation: 'image', quality: 'high' }, 2],
  [{ operation: 'image', quality: 'ultra' }, 5],
  [{ operation: 'video', seconds: 5 }, 25],
  [{ operation: 'music', seconds: 10 }, 3],
  [{ operation: 'upscale', scale: 2 }, 1],
  [{ operation: 'upscale', scale: 4 }, 2],
  [{ operation: 'background_removal' }, 1],
  [{ operation: 'prompt_enhancement' }, 0],
  [{ operation: 'chat', toolsCalled: false }, 1],
  [{ operation: 'chat', toolsCalled: true }, 2],
  [{ operation: 'agent', toolsCalled: false }, 1],
  [{ operation: 'agent', toolsCalled: true }, 2],
  [{ operation: 'tts', characters: 1_000 }, 1],
  [{ operation: 'stt', seconds: 60 }, 2],
];

const rounded: [Work, number][] = [
  [{ operation: 'tts', characters: 1 }, 1],
  [{ operation: 'tts', characters: 1_001 }, 2],
  [{ operation: 'tts', characters: 4_096 }, 5],
  [{ operation: 'stt', seconds: 0.2 }, 2],
  [{ operation: 'stt', seconds: 61 }, 4],
  [{ operation: 'stt', seconds: 1_800 }, 60],
  [{ operation: 'music', seconds: 11 }, 6],
  [{ operation: 'music', seconds: 30 }, 9],
  [{ operation: 'video', seconds: 4.2 }, 25],
  [{ operation: 'video', seconds: 0 }, 0],
];

const measured = [
  { unit: 1, perUnit: 5, work: (seconds: number): Work => ({ operation: 'video', seconds }) },
  { unit: 10, perUnit: 3, work: (seconds: number): Work => ({ operation: 'music', seconds }) },
  { unit: 60, perUnit: 2, work: (seconds: number): Work => ({ operation: 'stt', seconds }) },
  { unit: 1_000, perUnit: 1, work: (characters: number): Work => ({ operation: 'tts', characters }) },
];

describe('prices', () => {
  test.each(published)('%j costs %d, as published', (work, price) => {
    expect(priceOf(work)).toBe(price);
  });

  test.each(rounded)('%j costs %d: a started unit is a whole one', (work, price) => {
    expect(priceOf(work)).toBe(price);
  });

  test.each(measured)('every $unit cost $perUnit, and no part of a unit is free or costs more than one', (of) => {
    const { unit, perUnit, work } = of;
    const amounts = fc.integer({ min: 1, max: 10_000_000 }).map((thousandths) => thousandths / 1_000);
    fc.assert(
      fc.property(amounts, amounts, (one, other) => {
        const price = priceOf(work(one));
        expect(Number.isInteger(price / perUnit)).toBe(true);
        expect((price / perUnit) * unit).toBeGreaterThanOrEqual(one);
        expect((price / perUnit - 1) * unit).toBeLessThan(one);
        // More never costs less, and two parts never less than the whole.
        expect(priceOf(work(Math.max(one, other)))).toBeGreaterThanOrEqual(price);
        expect(price + priceOf(work(other))).toBeGreaterThanOrEqual(priceOf(work(one + other)));
      }),
    );
  });

  test.each(measured)('noise of measuring does not start another $unit', ({ unit, perUnit, work }) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: -1e-7, max: 1e-7, noNaN: true }),
        (units, noise) => {
          expect(priceOf(work(units * unit + noise))).toBe(units * perUnit);
        },
      ),
    );
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])('%d seconds have no price', (seconds) => {
    expect(() => priceOf({ operation: 'stt', seconds })).toThrow(RangeError);
  });
});
