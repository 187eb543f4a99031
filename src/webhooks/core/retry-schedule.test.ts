import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { egressErrorClasses } from '../../platform/core/egress-errors.ts';
import { deliveryStates } from './delivery-status.ts';
import {
  type AttemptResult,
  defaultMaxAttempts,
  defaultRetryPolicy,
  judge,
  maxAllowedAttempts,
  retryDelay,
} from './retry-schedule.ts';

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempts = fc.integer({ min: 1, max: maxAllowedAttempts });
const hour = 3_600_000;

describe('the delay', () => {
  test('is 1 s, 2 s, 4 s and so on, and a day at most', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => retryDelay(attempt, 0))).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(retryDelay(17, 0)).toBe(2 ** 16 * 1_000);
    expect(retryDelay(18, 0)).toBe(24 * hour);
  });

  test('has up to 10 % random jitter added, and grows', () => {
    fc.assert(
      fc.property(attempts, chance, chance, (attempt, one, other) => {
        const plain = retryDelay(attempt, 0);
        const delay = retryDelay(attempt, one);
        expect(delay).toBeGreaterThanOrEqual(plain);
        expect(delay).toBeLessThanOrEqual(Math.min(plain * 1.1, 24 * hour));
        expect(Number.isInteger(delay)).toBe(true);
        expect(retryDelay(attempt + 1, other)).toBeGreaterThanOrEqual(delay);
      }),
    );
  });

  test('adds up to two and a half days by default', () => {
    const days = Array.from({ length: defaultMaxAttempts - 1 }, (_, i) => retryDelay(i + 1, 0)).reduce((a, b) => a + b);
    expect(days / (24 * hour)).toBeCloseTo(2.5, 1);
  });

  test('follows the given policy', () => {
    const policy = { ...defaultRetryPolicy, firstDelayMs: 10, maxDelayMs: 50, jitter: 0.5 };
    expect([1, 2, 3, 4].map((attempt) => retryDelay(attempt, 0, policy))).toEqual([10, 20, 40, 50]);
    expect(retryDelay(1, 0.5, policy)).toBe(13);
  });
});

describe('an attempt', () => {
  const facts = { attempt: 1, maxAttempts: 3, chance: 0 };

  test('is a success with 2xx alone', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), (status) => {
        expect(judge({ status }, facts).status === 'delivered').toBe(status >= 200 && status <= 299);
      }),
    );
  });

  test.each([301, 307, 400, 404, 429, 500, 503])('with %i is tried again until its attempts are used up', (status) => {
    expect(judge({ status }, facts)).toEqual({ status: 'retrying', delayMs: 1_000 });
    expect(judge({ status }, { ...facts, attempt: 2 })).toEqual({ status: 'retrying', delayMs: 2_000 });
    expect(judge({ status }, { ...facts, attempt: 3 })).toEqual({ status: 'dead_lettered', disable: false });
    expect(judge({ status }, { ...facts, maxAttempts: 1 })).toEqual({ status: 'dead_lettered', disable: false });
  });

  test('with 410 turns the subscription off, however often it was tried', () => {
    for (const attempt of [1, 3]) {
      expect(judge({ status: 410 }, { ...facts, attempt })).toEqual({ status: 'dead_lettered', disable: true });
    }
  });

  test('waits for Retry-After, up to an hour, and never less than the schedule says', () => {
    const delay = (retryAfterMs: number, attempt = 1) => judge({ status: 503, retryAfterMs }, { ...facts, attempt });
    expect(delay(120_000)).toEqual({ status: 'retrying', delayMs: 120_000 });
    expect(delay(24 * hour)).toEqual({ status: 'retrying', delayMs: hour });
    expect(delay(500)).toEqual({ status: 'retrying', delayMs: 1_000 });
    expect(delay(1_500, 2)).toEqual({ status: 'retrying', delayMs: 2_000 });
  });

  test('is dead-lettered when it may not or cannot be sent, and is retried otherwise', () => {
    const statuses = Object.fromEntries(
      egressErrorClasses.map((errorClass) => [errorClass, judge({ errorClass }, facts).status]),
    );
    const { forbidden_destination, invalid_request, ...rest } = statuses;
    expect([forbidden_destination, invalid_request]).toEqual(['dead_lettered', 'dead_lettered']);
    expect(new Set(Object.values(rest))).toEqual(new Set(['retrying']));
  });

  test('leads to a state that the table allows, and is not retried after the last one', () => {
    const result: fc.Arbitrary<AttemptResult> = fc.oneof(
      fc.record({ status: fc.integer({ min: 200, max: 599 }), retryAfterMs: fc.option(fc.nat(), { nil: undefined }) }),
      fc.record({ errorClass: fc.constantFrom(...egressErrorClasses) }),
    );
    fc.assert(
      fc.property(result, attempts, attempts, chance, (of, attempt, maxAttempts, by) => {
        const verdict = judge(of, { attempt, maxAttempts, chance: by });
        expect(deliveryStates.canMove(attempt === 1 ? 'pending' : 'retrying', verdict.status)).toBe(true);
        if (attempt >= maxAttempts) expect(verdict.status).not.toBe('retrying');
        if (verdict.status === 'retrying') expect(verdict.delayMs).toBeLessThanOrEqual(24 * hour);
      }),
    );
  });
});
