import { expect, test } from '@jest/globals';
import { EventCount } from './event-count.ts';

const isWithin = (max: number, parts: string[]) => {
  const count = new EventCount(max);
  return parts.map((part) => count.add(Buffer.from(part))).every(Boolean);
};

test.each([
  ['events', 'data: x\n\n'],
  ['events of several fields', 'event: a\nid: 1\ndata: x\n\n'],
  ['events with other ends of lines', 'data: x\r\n\r\n'],
  ['events with old ends of lines', 'data: x\r\r'],
  ['comments', ': keep-alive\n'],
  ['empty lines', '\n'],
])('%s are counted, wherever the bytes are cut', (_, event) => {
  for (const [times, expected] of [
    [100, true],
    [101, false],
  ] as const) {
    const text = event.repeat(times);
    expect(isWithin(100, [text])).toBe(expected);
    expect(isWithin(100, text.split(''))).toBe(expected);
  }
});

test('lines without an end of the event are counted too', () => {
  expect(isWithin(100, ['data: x\n'.repeat(1_600)])).toBe(true);
  expect(isWithin(100, ['data: x\n'.repeat(1_601)])).toBe(false);
});
