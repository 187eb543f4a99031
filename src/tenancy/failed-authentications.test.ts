import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { FailedAuthentications } from './failed-authentications.ts';

/** Look-ups that end when the test says so. */
function opened(now?: () => number) {
  const failures = new FailedAuthentications(now);
  const ends: (() => void)[] = [];
  const lookUp = (range: string) => {
    const found = failures.lookUp(range, () => new Promise<string>((resolve) => ends.push(() => resolve('found'))));
    return found.catch((error: { code: string }) => error.code);
  };
  const exhaust = (range: string) => {
    for (let count = 0; count < 100; count++) failures.take(range);
  };
  return { ends, lookUp, exhaust };
}

test('a range over its limit has one look-up at a time, and others as many as they ask for', async () => {
  const { ends, lookUp, exhaust } = opened();
  exhaust('a');
  const asked = Array.from({ length: 12 }, () => lookUp('a'));
  expect(ends).toHaveLength(1);
  const elsewhere = Array.from({ length: 12 }, () => lookUp('b'));
  expect(ends).toHaveLength(13);
  expect(await Promise.all(asked.slice(9))).toEqual(Array(3).fill('rate_limit_exceeded'));
  for (let ended = 0; ended < ends.length; ended++) {
    ends[ended]!();
    await yieldToEventLoop();
  }
  expect(ends).toHaveLength(21);
  expect(await Promise.all([...asked.slice(0, 9), ...elsewhere])).toEqual(Array(21).fill('found'));
});

test('the queue ends with the window', () => {
  let now = 0;
  const { ends, lookUp, exhaust } = opened(() => now);
  exhaust('a');
  now = 59_999;
  for (let count = 0; count < 3; count++) lookUp('a');
  expect(ends).toHaveLength(1);
  now = 60_000;
  for (let count = 0; count < 3; count++) lookUp('a');
  expect(ends).toHaveLength(4);
});
