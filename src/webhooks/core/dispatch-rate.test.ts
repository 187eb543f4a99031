import { expect, test } from '@jest/globals';
import { defaultBreakerPolicy } from './breaker.ts';
import { DispatchRate } from './dispatch-rate.ts';
import { type DueSubscription, planDispatch } from './plan-dispatch.ts';

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
  const rate = new DispatchRate(policy);
  rate.began('a', 10_000, 0);
  expect(rate.maxStarts('a', 0)).toBe(Number.POSITIVE_INFINITY);
  rate.began('b', 1, 10);
  // 50 a second each, five of them at once.
  expect([rate.maxStarts('a', 10), rate.maxStarts('b', 10)]).toEqual([5, 4]);
  rate.began('a', 5, 10);
  expect(rate.maxStarts('a', 10)).toBe(0);
  expect(rate.spent(10)).toEqual(['a']);
  expect([29, 30, 50, 1_000].map((now) => rate.maxStarts('a', now))).toEqual([0, 1, 2, 5]);
  expect(rate.maxStarts('a', 1_011)).toBe(Number.POSITIVE_INFINITY);
});

test('an organization that is alone has a pace while a request waits for a run', () => {
  let isAwaited = false;
  const rate = new DispatchRate(policy, () => isAwaited);
  rate.began('a', 10_000, 0);
  expect(rate.maxStarts('a', 0)).toBe(Number.POSITIVE_INFINITY);
  isAwaited = true;
  // What it began before it had a pace does not count.
  expect(rate.maxStarts('a', 0)).toBe(10);
  rate.began('a', 10, 0);
  expect([0, 10, 50].map((now) => rate.maxStarts('a', now))).toEqual([0, 1, 5]);
  // A few at a time are not worth their lease.
  expect([0, 49, 50].map((now) => rate.spent(now))).toEqual([['a'], ['a'], []]);
  isAwaited = false;
  expect(rate.maxStarts('a', 50)).toBe(Number.POSITIVE_INFINITY);
});

test('a single delivery of an organization begins in the same look, whatever another has, and the other keeps its rate', () => {
  const rate = new DispatchRate(policy);
  const begun = { a: 0, b: 0 };
  for (let now = 0; now < 2_000; now += 10) {
    const capacity = { free: 256, held: () => 0, maxStarts: (id: string) => rate.maxStarts(id, now) };
    const hasOne = now % 100 === 0;
    const { grants, waitMs } = planDispatch(
      [due('a', 64), ...(hasOne ? [due('b', 1)] : [])],
      capacity,
      now,
      defaultBreakerPolicy,
      () => 0,
    );
    for (const { subscription, first } of grants) {
      rate.began(subscription.organizationId, first, now);
      begun[subscription.organizationId as 'a' | 'b'] += first;
    }
    expect(grants.some(({ subscription }) => subscription.id === 'b')).toBe(hasOne);
    if (grants.length === 0) expect(waitMs).toBeLessThanOrEqual(100);
  }
  expect(begun.b).toBe(20);
  expect(begun.a).toBeGreaterThan(90);
  // The first look, when no other organization had any, and 50 a second after it.
  expect(begun.a).toBeLessThanOrEqual(64 + 105);
});
