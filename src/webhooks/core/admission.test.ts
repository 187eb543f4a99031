import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { takeTurns } from './admission.ts';

describe('places', () => {
  test('go to first attempts and retries in equal parts while both wait', () => {
    expect(takeTurns(8, { first: 100, retries: 100 }, 0.9)).toEqual({ first: 4, retries: 4 });
    expect(takeTurns(8, { first: 100, retries: 1 }, 0.9)).toEqual({ first: 7, retries: 1 });
    expect(takeTurns(8, { first: 2, retries: 100 }, 0.9)).toEqual({ first: 2, retries: 6 });
  });

  test('go to either when there is one alone', () => {
    expect(takeTurns(1, { first: 100, retries: 100 }, 0.2)).toEqual({ first: 0, retries: 1 });
    expect(takeTurns(1, { first: 100, retries: 100 }, 0.7)).toEqual({ first: 1, retries: 0 });
  });

  test('are all used, and no more than wait', () => {
    const count = fc.nat({ max: 70 });
    fc.assert(
      fc.property(count, count, count, fc.double({ min: 0, max: 0.999, noNaN: true }), (places, first, retries, by) => {
        const turn = takeTurns(places, { first, retries }, by);
        expect(turn.first + turn.retries).toBe(Math.min(places, first + retries));
        expect(turn.first).toBeLessThanOrEqual(first);
        expect(turn.retries).toBeLessThanOrEqual(retries);
        expect(Math.min(turn.first, turn.retries)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
