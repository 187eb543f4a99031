import { expect, test } from '@jest/globals';
import { isLargerThan } from './json-size.ts';

test.each([
  '"abc"',
  '0',
  'null',
  '[]',
  '{}',
  '[1,2,[3,"x"]]',
  '{"a":1,"b":{"c":[]}}',
  JSON.stringify('x'.repeat(1_000)),
])('plain JSON has its own length: %.30s', (json) => {
  const value = JSON.parse(json);
  const least = json === 'null' ? 1 : json.length;
  expect(isLargerThan(value, least)).toBe(false);
  expect(isLargerThan(value, least - 1)).toBe(true);
});

test('a value is looked at no further than its size matters', () => {
  let read = 0;
  const list = new Proxy(
    Array.from({ length: 100_000 }, () => 0),
    {
      get(target, name) {
        read++;
        return Reflect.get(target, name);
      },
    },
  );
  expect(isLargerThan(list, 1_000)).toBe(true);
  expect(read).toBeLessThan(2_000);
});
