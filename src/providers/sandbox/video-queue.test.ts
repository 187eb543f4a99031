import { expect, test } from '@jest/globals';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { VideoQueue } from './video-queue.ts';

const [one, other] = [tenantKeyOf('one'), tenantKeyOf('other')];

/** A queue whose slots are taken until `end` is called, and a clock that stands still. */
function busyQueue(slots: number) {
  const clock = { ms: 0 };
  const queue = new VideoQueue(slots, () => clock.ms);
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const computed = Array.from({ length: slots }, (_, at) => queue.compute(one, `first ${at}`, () => promise));
  return { queue, clock, end, computed: Promise.all(computed) };
}

test('a video gets a free slot at once, and a pause while none is free', async () => {
  const { queue, end, computed } = busyQueue(2);
  expect(queue.pauseOf(one, 'a')).toBe(1_000);
  end();
  await computed;
  expect(queue.pauseOf(one, 'a')).toBeUndefined();
});

test('a video waits for those of its organization that asked before, and asks rarely behind many', () => {
  const { queue } = busyQueue(2);
  const pauses = Array.from({ length: 100 }, (_, at) => queue.pauseOf(one, `${at}`));
  expect(pauses.slice(0, 3)).toEqual([1_000, 2_000, 3_000]);
  expect(pauses[99]).toBe(60_000);
  // It keeps its place when it asks again.
  expect(queue.pauseOf(one, '1')).toBe(2_000);
});

test('organizations take turns: the first video of another does not wait for a backlog', () => {
  const { queue } = busyQueue(2);
  for (let at = 0; at < 100; at++) queue.pauseOf(one, `${at}`);
  expect(queue.pauseOf(other, 'b')).toBe(2_000);
});

test('videos that are computed, and those that do not ask again, are no longer waited for', async () => {
  const { queue, clock, end, computed } = busyQueue(1);
  for (const id of ['a', 'b', 'c']) queue.pauseOf(one, id);
  expect(queue.pauseOf(one, 'd')).toBe(8_000);
  void queue.compute(one, 'a', () => new Promise(() => {}));
  expect(queue.pauseOf(one, 'd')).toBe(6_000);
  clock.ms = 60_000;
  expect(queue.pauseOf(one, 'd')).toBe(2_000);
  end();
  await computed;
});

test('pauses follow how long videos take', async () => {
  const { queue, clock, end, computed } = busyQueue(1);
  clock.ms = 12_000;
  end();
  await computed;
  void queue.compute(one, 'next', () => new Promise(() => {}));
  expect(queue.pauseOf(one, 'a')).toBe(4_000);
});
