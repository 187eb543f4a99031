import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Waiters } from './waiters.ts';

const never = new AbortController().signal;

test('an end that is announced during a look is not missed', async () => {
  const waiters = new Waiters('run');
  let ended = false;
  const looks: boolean[] = [];
  const found = waiters.wait(
    'one',
    async () => {
      looks.push(ended);
      if (ended) return 'ended';
      // It ends after it was read, and before the next sleep.
      ended = true;
      waiters.notifyLocal('one');
      return undefined;
    },
    1_000_000,
    never,
  );
  waiters.notifyLocal('one');
  // A waiter that misses it looks again only after seconds.
  await Promise.race([found, sleep(1_000, undefined, { ref: false })]);
  expect(looks).toEqual([false, true]);
  expect(await found).toBe('ended');
});

test('a waiter that has given up or has its result is not woken again', async () => {
  const waiters = new Waiters('run');
  const stop = new AbortController();
  const given = waiters.wait('one', async () => undefined, 1_000_000, stop.signal);
  expect(waiters.waitedWithin(0)).toBe(true);
  stop.abort();
  expect(await given).toBeUndefined();
  const failed = waiters.wait('one', () => Promise.reject(new Error('no database')), 0, never);
  await expect(failed).rejects.toThrow('no database');
  expect(waiters.waitedWithin(0)).toBe(false);
});

test('what may have happened before is looked for at once, and a look that fails leaves no waiter', async () => {
  const waiters = new Waiters('run');
  expect(await waiters.wait('one', async () => 'ended', 1_000_000, never, true)).toBe('ended');
  const looks: boolean[] = [];
  const found = waiters.wait('one', async () => looks.push(true) === 2 || undefined, 1_000_000, never, true);
  waiters.notifyLocal('one');
  expect(await found).toBe(true);
  const failed = waiters.wait('one', () => Promise.reject(new Error('removed')), 1_000_000, never, true);
  await expect(failed).rejects.toThrow('removed');
  expect(waiters.waitedWithin(0)).toBe(false);
});

test('a watch keeps a change that comes between its creation and the sleep', async () => {
  const waiters = new Waiters('run');
  const watch = waiters.watch('one');
  waiters.notifyLocal('one');
  await watch.changed(1_000_000, never);
  watch.close();
  expect(waiters.waitedWithin(0)).toBe(false);
});
