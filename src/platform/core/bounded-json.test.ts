import { describe, expect, test } from '@jest/globals';
import { JsonBounds, JsonRefused, maxStructures, parseJson, readJson } from './bounded-json.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const megabyte = 1_000_000;

function refusalOf(text: string | Uint8Array, maxBytes = megabyte): string | undefined {
  try {
    parseJson(text, maxBytes);
    return undefined;
  } catch (error) {
    if (error instanceof JsonRefused) return error.reason;
    throw error;
  }
}

describe.each([
  ['a text', (text: string) => text],
  ['bytes', (text: string) => Buffer.from(text)],
])('%s', (_, form) => {
  test.each(['{"a":[1,-2.5e3,"\\u0041",null,true]}', '"é😀"', '0', nested(64), `"${'{['.repeat(100_000)}\\"{"`])(
    'is read: %.40s',
    (text) => {
      expect(parseJson(form(text), megabyte)).toEqual(JSON.parse(text));
    },
  );

  test.each([
    ['too_deep', nested(65)],
    ['too_deep', '['.repeat(400_000)],
    ['too_deep', `{"a":"\\"",${'"b":{'.repeat(64)}`],
    ['too_many', `[${'{},'.repeat(maxStructures)}{}]`],
    ['too_many', `{${Array.from({ length: maxStructures }, (_, index) => `"k${index}":0`).join()}}`],
    ['too_large', `"${'x'.repeat(megabyte)}"`],
    ['too_large', JSON.stringify('é'.repeat(megabyte / 2))],
    ['malformed', '{'],
    ['malformed', ''],
    // What comes behind a broken text is counted all the same.
    ['too_deep', `"\n${'['.repeat(65)}`],
  ])('is refused as %s: %.40s', (reason, text) => {
    expect(refusalOf(form(text))).toBe(reason);
    expect(readJson(form(text), megabyte)).toBeUndefined();
  });
});

test('a megabyte of plain numbers is read', () => {
  const numbers = `[${'0,'.repeat(500_000)}0]`;
  expect(parseJson(numbers, 2 * megabyte)).toHaveLength(500_001);
  expect(refusalOf(`[${'0,'.repeat(600_000)}0]`, 2 * megabyte)).toBe('too_many');
});

test('what arrives in pieces is counted as a whole, until another text begins', () => {
  const bounds = new JsonBounds({ maxBytes: 1_000 });
  const add = (text: string) => [...Buffer.from(text)].map((byte) => bounds.add(Uint8Array.of(byte))).find(Boolean);
  expect(add(`{"a\\"[":"${'['.repeat(100)}",`)).toBeUndefined();
  expect(add('['.repeat(64))).toBe('too_deep');
  bounds.restart();
  expect(add('['.repeat(64))).toBeUndefined();
  expect(add(`"${'x'.repeat(1_000)}`)).toBe('too_large');
});
