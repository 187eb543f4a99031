import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { KeyedSemaphore } from './keyed-semaphore.ts';

function opened(semaphore: KeyedSemaphore) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const results: Promise<string>[] = [];
  return {
    begun,
    results,
    begin(key: string, name: string) {
      const work = () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      };
      results.push(semaphore.run(key, work));
    },
    async end(name: string) {
      ends.get(name)!();
      await yieldToEventLoop();
    },
  };
}

test('so much of a key is done at once, the rest in order, and another key waits for none of it', async () => {
  const semaphore = new KeyedSemaphore(2, 3);
  const { begun, results, begin, end } = opened(semaphore);
  for (const name of ['a1', 'a2', 'a3', 'a4']) begin('a', name);
  expect(semaphore.canEnqueue('a')).toBe(true);
  begin('a', 'a5');
  expect(semaphore.canEnqueue('a')).toBe(false);
  expect(semaphore.canEnqueue('b')).toBe(true);
  begin('b', 'b1');
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('a2');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  expect(semaphore.canEnqueue('a')).toBe(true);
  for (const name of ['a1', 'a3', 'a4', 'a5', 'b1']) await end(name);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4', 'a5']);
  expect(await Promise.all(results)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1']);
});

test('work that fails gives its place on', async () => {
  const semaphore = new KeyedSemaphore(1, 10);
  const failing = semaphore.run('a', () => Promise.reject(new Error('no')));
  const second = semaphore.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await second).toBe('done');
});
