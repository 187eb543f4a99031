import { expect, test } from '@jest/globals';
import { CleanedStream, cleaned, cleanText } from './clean-text.ts';

test.each([
  ['a\0b', 'a\ufffdb'],
  ['\ud800', '\ufffd'],
  ['\udc00\ud800x', '\ufffd\ufffdx'],
  ['whole 😀', 'whole 😀'],
  ['\\u0000 is no NUL', '\\u0000 is no NUL'],
  ['\\\0 is a backslash and a NUL', '\\\ufffd is a backslash and a NUL'],
  ['\\\\ud800\ud800 "\\"\n\u0001', '\\\\ud800\ufffd "\\"\n\u0001'],
])('%j becomes %j', (given, expected) => {
  expect(cleanText(given)).toBe(expected);
  expect(cleaned({ [given]: [given, { deep: given }] })).toEqual({ [expected]: [expected, { deep: expected }] });
});

test('a text that arrives in parts is cleaned as a whole', () => {
  for (const text of ['a😀b', '\ud83d\ud83d\ude00', 'x\0y', 'end\ud800']) {
    const stream = new CleanedStream();
    const parts = text.split('').map((unit) => stream.add(unit));
    expect([...parts, stream.end()].join('')).toBe(cleanText(text));
  }
});
