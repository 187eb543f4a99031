import { expect, test } from '@jest/globals';
import { AddressLimiter } from './address-limiter.ts';

test('each address has a window of its own, which begins with its first request', () => {
  let now = 1_000_000;
  const limiter = new AddressLimiter(2, 60, () => now);
  const isRefused = (address: string) => {
    try {
      limiter.take(address);
      return false;
    } catch (error) {
      expect(error).toMatchObject({
        code: 'rate_limit_exceeded',
        facts: { limit: 2, resetAt: expect.any(Number) },
        retryAfter: expect.any(Number),
      });
      return (error as { retryAfter: number }).retryAfter;
    }
  };
  expect([isRefused('a'), isRefused('a'), isRefused('a'), isRefused('b')]).toEqual([false, false, 60, false]);
  now += 59_500;
  expect([isRefused('a'), isRefused('c'), isRefused('c')]).toEqual([1, false, false]);
  now += 500;
  // The windows of a and b are over, that of c is not.
  expect([isRefused('a'), isRefused('b'), isRefused('c')]).toEqual([false, false, 60]);
});

test('forgets the oldest windows of a flood', () => {
  const limiter = new AddressLimiter(1, 60, () => 0);
  for (let address = 0; address < 200_000; address++) limiter.take(String(address));
  expect(() => limiter.take('0')).toThrow('Too many requests.');
  limiter.take('one more');
  limiter.take('0');
  expect(() => limiter.take('2')).toThrow('Too many requests.');
});
