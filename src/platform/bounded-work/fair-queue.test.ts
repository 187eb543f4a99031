import { expect, test } from '@jest/globals';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { FairQueue } from './fair-queue.ts';
import { UsedTime } from './used-time.ts';

function fill(items: [key: string, item: string][]) {
  const queue = new FairQueue<string>();
  for (const [key, item] of items) queue.push(tenantKeyOf(key), item);
  return queue;
}
const takeAll = (queue: FairQueue<string>, isAllowed = (_: string) => true) => {
  const taken: string[] = [];
  for (let item = queue.take(isAllowed); item !== undefined; item = queue.take(isAllowed)) taken.push(item);
  return taken;
};

test('keys alternate, and each keeps its order', () => {
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
  queue.push(tenantKeyOf('b'), 'b1');
  expect(takeAll(queue)).toEqual(['a2', 'b1', 'a3']);
});

test('one that has its share is passed over and keeps its place', () => {
  const queue = fill([
    ['a', 'a1'],
    ['b', 'b1'],
  ]);
  expect(takeAll(queue, (key) => key !== 'a')).toEqual(['b1']);
  expect(queue.of(tenantKeyOf('a'))).toEqual(['a1']);
  expect(takeAll(queue)).toEqual(['a1']);
});

test('what is removed is not taken', () => {
  const queue = fill([
    ['a', 'a1'],
    ['a', 'a2'],
  ]);
  queue.remove(tenantKeyOf('a'), 'a1');
  queue.remove(tenantKeyOf('none'), 'a2');
  expect(queue.clear()).toEqual(['a2']);
  expect(takeAll(queue)).toEqual([]);
});

test('the key that used least of the last minute is next, however many items it has, and none keeps more than half while another waits', () => {
  const clock = { now: 0 };
  const used = new UsedTime(() => clock.now);
  const [a, b] = [tenantKeyOf('a'), tenantKeyOf('b')];
  const queue = new FairQueue<{ key: typeof a; ms: number }>((key) => used.of(key));
  // One has tasks of ten seconds, the other a hundred times as many of a tenth of a second.
  for (let item = 0; item < 20; item++) queue.push(a, { key: a, ms: 10_000 });
  for (let item = 0; item < 2_000; item++) queue.push(b, { key: b, ms: 100 });
  const spent = new Map([
    [a, 0],
    [b, 0],
  ]);
  while (clock.now < 300_000) {
    const { key, ms } = queue.take(() => true)!;
    const end = used.begin(key);
    clock.now += ms;
    end();
    spent.set(key, spent.get(key)! + ms);
  }
  expect(spent.get(a)! / clock.now).toBeGreaterThan(0.4);
  expect(spent.get(a)! / clock.now).toBeLessThan(0.6);
});

test('what was used is forgotten after a minute, and what is under way counts', () => {
  const clock = { now: 0 };
  const used = new UsedTime(() => clock.now);
  const a = tenantKeyOf('a');
  const end = used.begin(a);
  clock.now = 4_000;
  expect(used.of(a)).toBe(4_000);
  end();
  clock.now = 50_000;
  expect(used.of(a)).toBe(4_000);
  clock.now = 75_000;
  expect(used.of(a)).toBe(0);
});
