import { expect, test } from '@jest/globals';
import { maxStructures } from './bounded-json.ts';
import { EventBounds } from './event-bounds.ts';

const excessOf = (parts: string[], max = 100) => {
  const bounds = new EventBounds(max, { maxBytes: 1_000_000 });
  return parts.map((part) => bounds.add(Buffer.from(part))).find(Boolean);
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
    [100, undefined],
    [101, 'too_many_events'],
  ] as const) {
    const text = event.repeat(times);
    expect(excessOf([text])).toBe(expected);
    expect(excessOf(text.split(''))).toBe(expected);
  }
});

test('lines without an end of the event are counted too', () => {
  expect(excessOf(['data: x\n'.repeat(1_600)])).toBeUndefined();
  expect(excessOf(['data: x\n'.repeat(1_601)])).toBe('too_many_events');
});

const objects = (count: number) => `[${'{},'.repeat(count)}0]`;

test.each([
  ['line feeds', '\n'],
  ['both', '\r\n'],
  ['carriage returns', '\r'],
])('each event is bounded as JSON, with lines that end in %s', (_, end) => {
  const event = (...lines: string[]) => [...lines, '', ''].join(end);
  const half = `data: ${objects(maxStructures / 2)}`;
  const small = event(half).repeat(4);
  expect(excessOf([small])).toBeUndefined();
  // The lines of one event are one text, and what a line says before it does not hide it.
  for (const large of [event(half, half), event('event: "', `data: ${objects(maxStructures)}`)]) {
    expect(excessOf([small, large])).toBe('too_many');
    expect(excessOf((small + large).match(/.{1,1000}/gs)!)).toBe('too_many');
  }
  expect(excessOf([event(`data: ${'['.repeat(65)}`)])).toBe('too_deep');
  expect(excessOf([event(`data: ${'x'.repeat(1_000_000)}`)])).toBe('too_large');
});
