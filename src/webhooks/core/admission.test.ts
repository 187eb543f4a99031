import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { delayReason, divideAttempts, fairShare, type SubscriptionLoad } from './admission.ts';
import { closedBreaker } from './breaker.ts';

describe('places', () => {
  test('go to first attempts and retries in equal parts while both wait', () => {
    expect(divideAttempts(8, { first: 100, retries: 100 }, 0.9)).toEqual({ first: 4, retries: 4 });
    expect(divideAttempts(8, { first: 100, retries: 1 }, 0.9)).toEqual({ first: 7, retries: 1 });
    expect(divideAttempts(8, { first: 2, retries: 100 }, 0.9)).toEqual({ first: 2, retries: 6 });
  });

  test('go to either when there is one alone', () => {
    expect(divideAttempts(1, { first: 100, retries: 100 }, 0.2)).toEqual({ first: 0, retries: 1 });
    expect(divideAttempts(1, { first: 100, retries: 100 }, 0.7)).toEqual({ first: 1, retries: 0 });
  });

  test('are all used, and no more than wait', () => {
    const count = fc.nat({ max: 70 });
    fc.assert(
      fc.property(count, count, count, fc.double({ min: 0, max: 0.999, noNaN: true }), (places, first, retries, by) => {
        const share = divideAttempts(places, { first, retries }, by);
        expect(share.first + share.retries).toBe(Math.min(places, first + retries));
        expect(share.first).toBeLessThanOrEqual(first);
        expect(share.retries).toBeLessThanOrEqual(retries);
        expect(Math.min(share.first, share.retries)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('the share of an organization', () => {
  test('is half of the places alone, and as many as others have otherwise', () => {
    expect(fairShare(256, 0)).toBe(128);
    expect(fairShare(128, 128)).toBe(0);
    expect(fairShare(1, 0)).toBe(1);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 64, max: 512 }), (organizations, places) => {
        const held = Array.from({ length: organizations }, () => 0);
        const free = () => places - held.reduce((sum, of) => sum + of, 0);
        // Attempts end one by one, of the organization that has most, and each time all want more.
        for (let round = 0; round < places; round++) {
          for (const [index, of] of held.entries()) held[index] = of + fairShare(free(), of);
          held[held.indexOf(Math.max(...held))]!--;
        }
        expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(2);
        expect(free()).toBeGreaterThan(0);
      }),
    );
  });
});

describe('a delivery that waits', () => {
  const now = 1_000_000;
  const idle: SubscriptionLoad = {
    breaker: closedBreaker,
    concurrency: 2,
    inFlight: 0,
    rateLimit: 60,
    rateFreeAt: null,
  };
  const due = { nextAttemptAt: now, ignoresBreaker: false, isHeld: false };
  const open = { failuresInARow: 10, nextProbeAt: now + 30_000 };

  test('says why, and until when', () => {
    expect(delayReason(idle, due, now)).toBeUndefined();
    expect(delayReason(idle, { ...due, nextAttemptAt: now + 1 }, now)).toBeUndefined();
    expect(delayReason({ ...idle, breaker: open }, due, now)).toEqual({ reason: 'failing', until: now + 30_000 });
    expect(delayReason({ ...idle, breaker: open }, { ...due, ignoresBreaker: true }, now)).toBeUndefined();
    expect(delayReason({ ...idle, rateFreeAt: now + 5_000 }, due, now)).toEqual({
      reason: 'rate_limit',
      until: now + 5_000,
    });
    expect(delayReason({ ...idle, inFlight: 2 }, due, now)).toEqual({ reason: 'concurrency', until: null });
    expect(delayReason(idle, { ...due, isHeld: true }, now)).toEqual({ reason: 'order', until: null });
    expect(delayReason(idle, { ...due, nextAttemptAt: now - 5_000 }, now)).toEqual({ reason: 'busy', until: null });
  });
});
