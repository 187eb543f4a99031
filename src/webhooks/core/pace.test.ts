import { expect, test } from '@jest/globals';
import { defaultBreakerPolicy } from './breaker.ts';
import { Pace } from './pace.ts';
import { type DueSubscription, planTurns } from './plan-turns.ts';

const policy = { perSecond: 100, burstMs: 100, rememberMs: 1_000 };
const load = {
  breaker: { failures: 0, nextProbeAt: null },
  concurrency: 1_000,
  inFlight: 0,
  rateLimit: null,
  rateFreeAt: null,
};
const due = (organizationId: string, first: number): DueSubscription =>
  ({ id: organizationId, organizationId, load, first, retries: 0, exempt: 0 }) as never;

test('an organization that is alone has no pace, and two share one', () => {
  const pace = new Pace(policy);
  pace.began('a', 10_000, 0);
  expect(pace.maxStarts('a', 0)).toBe(Number.POSITIVE_INFINITY);
  pace.began('b', 1, 10);
  // 50 a second each, five of them at once.
  expect([pace.maxStarts('a', 10), pace.maxStarts('b', 10)]).toEqual([5, 4]);
  pace.began('a', 5, 10);
  expect(pace.maxStarts('a', 10)).toBe(0);
  expect(pace.spent(10)).toEqual(['a']);
  expect([29, 30, 50, 1_000].map((now) => pace.maxStarts('a', now))).toEqual([0, 1, 2, 5]);
  expect(pace.maxStarts('a', 1_011)).toBe(Number.POSITIVE_INFINITY);
});

test('an organization that is alone has a pace while a request waits for a run', () => {
  let isAwaited = false;
  const pace = new Pace(policy, () => isAwaited);
  pace.began('a', 10_000, 0);
  expect(pace.maxStarts('a', 0)).toBe(Number.POSITIVE_INFINITY);
  isAwaited = true;
  // What it began before it had a pace does not count.
  expect(pace.maxStarts('a', 0)).toBe(10);
  pace.began('a', 10, 0);
  expect([0, 10, 50].map((now) => pace.maxStarts('a', now))).toEqual([0, 1, 5]);
  // A few at a time are not worth their lease.
  expect([0, 49, 50].map((now) => pace.spent(now))).toEqual([['a'], ['a'], []]);
  isAwaited = false;
  expect(pace.maxStarts('a', 50)).toBe(Number.POSITIVE_INFINITY);
});

test('whoever has a single delivery has it begun in the same look, whatever another has, and the other keeps its pace', () => {
  const pace = new Pace(policy);
  const begun = { a: 0, b: 0 };
  for (let now = 0; now < 2_000; now += 10) {
    const room = { free: 256, held: () => 0, maxStarts: (id: string) => pace.maxStarts(id, now) };
    const hasOne = now % 100 === 0;
    const { turns, waitMs } = planTurns(
      [due('a', 64), ...(hasOne ? [due('b', 1)] : [])],
      room,
      now,
      defaultBreakerPolicy,
      () => 0,
    );
    for (const { subscription, first } of turns) {
      pace.began(subscription.organizationId, first, now);
      begun[subscription.organizationId as 'a' | 'b'] += first;
    }
    expect(turns.some(({ subscription }) => subscription.id === 'b')).toBe(hasOne);
    if (turns.length === 0) expect(waitMs).toBeLessThanOrEqual(100);
  }
  expect(begun.b).toBe(20);
  expect(begun.a).toBeGreaterThan(90);
  // The first look, when nobody else had any, and 50 a second after it.
  expect(begun.a).toBeLessThanOrEqual(64 + 105);
});
