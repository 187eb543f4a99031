import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { EventLoopRounds } from './event-loop-rounds.ts';

test('each round of the event loop has one piece, and works take turns', async () => {
  const rounds = new EventLoopRounds();
  const order: string[] = [];
  const work = async (name: string) => {
    for (let piece = 1; piece <= 3; piece++) {
      await rounds.next();
      order.push(`${name}${piece}`);
    }
  };
  const works = Promise.all([work('a'), work('b')]);
  const perRound: number[] = [];
  while (order.length < 6) {
    const before = order.length;
    await nextRound();
    perRound.push(order.length - before);
  }
  await works;
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  expect(Math.max(...perRound)).toBe(1);
});
