import { expect, test } from '@jest/globals';
import { FairQueue } from './fair-queue.ts';

function fill(items: [key: string, item: string][]) {
  const queue = new FairQueue<string>();
  for (const [key, item] of items) queue.push(key, item);
  return queue;
}
const takeAll = (queue: FairQueue<string>, isAllowed = (_: string) => true) => {
  const taken: string[] = [];
  for (let item = queue.take(isAllowed); item !== undefined; item = queue.take(isAllowed)) taken.push(item);
  return taken;
};

test('keys take turns, and each keeps its order', () => {
  const queue = fill([
    ['a', 'a1'],
    ['a', 'a2'],
    ['a', 'a3'],
    ['b', 'b1'],
    ['c', 'c1'],
    ['c', 'c2'],
  ]);
  expect(takeAll(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});

test('a key that comes late does not wait for all that was there before it', () => {
  const queue = fill([
    ['a', 'a1'],
    ['a', 'a2'],
    ['a', 'a3'],
  ]);
  queue.take(() => true);
  queue.push('b', 'b1');
  expect(takeAll(queue)).toEqual(['a2', 'b1', 'a3']);
});

test('one that has its share is passed over and keeps its place', () => {
  const queue = fill([
    ['a', 'a1'],
    ['b', 'b1'],
  ]);
  expect(takeAll(queue, (key) => key !== 'a')).toEqual(['b1']);
  expect(queue.of('a')).toEqual(['a1']);
  expect(takeAll(queue)).toEqual(['a1']);
});

test('what is removed is not taken', () => {
  const queue = fill([
    ['a', 'a1'],
    ['a', 'a2'],
  ]);
  queue.remove('a', 'a1');
  queue.remove('none', 'a2');
  expect(queue.clear()).toEqual(['a2']);
  expect(takeAll(queue)).toEqual([]);
});
