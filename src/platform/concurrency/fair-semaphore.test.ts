import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ActiveKeys } from './active-keys.ts';
import { FairSemaphore } from './fair-semaphore.ts';

function opened() {
  const clock = { now: 0 };
  const active = new ActiveKeys(1_000, () => clock.now);
  const semaphore = new FairSemaphore({ alone: 4, together: 2, maxWaiting: 3 }, active);
  const underWay: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    clock,
    active,
    semaphore,
    underWay,
    begin(...names: string[]) {
      for (const name of names) {
        const work = () => {
          underWay.push(name);
          return new Promise<void>((resolve) => ends.set(name, resolve));
        };
        void semaphore.run(name[0]!, work);
      }
    },
    async end(...names: string[]) {
      for (const name of names) {
        ends.get(name)!();
        underWay.splice(underWay.indexOf(name), 1);
      }
      await yieldToEventLoop();
    },
  };
}

test('a key that is alone has many places, and one of several an equal share of few', async () => {
  const { semaphore, underWay, begin, end } = opened();
  begin('a1', 'a2', 'a3', 'a4', 'a5', 'a6');
  expect(underWay).toEqual(['a1', 'a2', 'a3', 'a4']);
  expect(semaphore.freeOfOthers()).toBe(1);
  // Another key waits for none of them, and from then on the first has its share.
  begin('b1', 'b2');
  expect(underWay).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  expect(semaphore.free()).toEqual(new Map([['a', 0], ['b', 0]])); // biome-ignore format: as a table
  await end('a1', 'a2', 'a3');
  expect(underWay).toEqual(['a4', 'b1']);
  await end('a4', 'b1');
  expect(underWay).toEqual(['a5', 'b2']);
});

test('a key keeps its share for a while, and then another has the places again', async () => {
  const { clock, semaphore, underWay, begin, end } = opened();
  begin('b1');
  await end('b1');
  clock.now = 1_000;
  begin('a1', 'a2', 'a3');
  expect(underWay).toEqual(['a1']);
  expect(semaphore.free()).toEqual(new Map([['b', 1], ['a', 0]])); // biome-ignore format: as a table
  clock.now = 1_001;
  await end('a1');
  expect(underWay).toEqual(['a2', 'a3']);
});

test('so much of a key waits, and work that fails gives its place on', async () => {
  const { semaphore, underWay, begin } = opened();
  const failing = ['a', 'a', 'a', 'a'].map((key) => semaphore.run(key, () => Promise.reject(new Error('no'))));
  begin('a5', 'a6', 'a7');
  expect([semaphore.canEnqueue('a'), semaphore.canEnqueue('b')]).toEqual([false, true]);
  for (const one of failing) await expect(one).rejects.toThrow('no');
  expect(underWay).toEqual(['a5', 'a6', 'a7']);
  expect(semaphore.canEnqueue('a')).toBe(true);
});

test('a key that has work elsewhere has its share too', async () => {
  const { active, clock, underWay, begin, end } = opened();
  active.begin('b');
  begin('a1', 'a2', 'a3');
  expect(underWay).toEqual(['a1']);
  active.end('b');
  clock.now = 1_001;
  await end('a1');
  expect(underWay).toEqual(['a2', 'a3']);
});
