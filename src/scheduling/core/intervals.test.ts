import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seed } from '../../../test/fuzz/seed.ts';
import { type Interval, Spans } from './intervals.ts';
import { Recent } from './recent.ts';

const size = 40;
const intervals = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: size }), fc.integer({ min: 0, max: size }))
    .map(([startsAt, endsAt]) => ({ startsAt, endsAt })),
  { maxLength: 12 },
);
const moments = Array.from({ length: size }, (_, at) => at);
const within = (list: Interval[], at: number) => list.some(({ startsAt, endsAt }) => startsAt <= at && at < endsAt);
const shown = (spans: Spans) => moments.map((at) => within([...spans], at));

test('sets of times are what they say at every moment, in whichever order they are asked', () => {
  const question = fc.array(fc.tuple(fc.integer({ min: 0, max: size }), fc.integer({ min: 1, max: 9 })), {
    maxLength: 20,
  });
  const holds = fc.property(intervals, intervals, question, (one, other, questions) => {
    const [a, b] = [Spans.of(one), Spans.of(other)];
    expect(shown(a)).toEqual(moments.map((at) => within(one, at)));
    expect(shown(a.union(b))).toEqual(moments.map((at) => within(one, at) || within(other, at)));
    expect(shown(a.intersect(b))).toEqual(moments.map((at) => within(one, at) && within(other, at)));
    expect(shown(a.subtract(b))).toEqual(moments.map((at) => within(one, at) && !within(other, at)));
    const list = [...a.union(b).subtract(a)];
    expect(
      list.every(
        ({ startsAt, endsAt }, index) => startsAt < endsAt && (index === 0 || list[index - 1]!.endsAt < startsAt),
      ),
    ).toBe(true);
    for (const [startsAt, length] of questions) {
      const asked = Array.from({ length }, (_, index) => within(one, startsAt + index));
      expect(a.contains(startsAt, startsAt + length)).toBe(asked.every(Boolean));
      const gap = asked.indexOf(false);
      expect(a.firstGap(startsAt, startsAt + length)).toBe(gap < 0 ? undefined : startsAt + gap);
      const until = a.overlapsUntil(startsAt, startsAt + length);
      expect(until !== undefined).toBe(asked.some(Boolean));
      if (until !== undefined) expect([within(one, until - 1), within(one, until)]).toEqual([true, false]);
    }
  });
  fc.assert(holds, { seed, numRuns: 300 });
});

test('no more results are remembered than there is room for, and those used last', () => {
  let computed = 0;
  const squares = new Recent<number, number>(3);
  const square = (number: number) =>
    squares.get(number, () => {
      computed++;
      return number * number;
    });
  expect([1, 2, 3, 1, 4, 1, 3].map(square)).toEqual([1, 4, 9, 1, 16, 1, 9]);
  // 2 made room for 4.
  expect(computed).toBe(4);
  square(2);
  expect(computed).toBe(5);
});
