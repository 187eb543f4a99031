import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { maxOutputBytes, Storable, storable, storableContent, storableJson } from './storable.ts';

test.each([
  ['a\0b', 'a\ufffdb'],
  ['half \ud800', 'half \ufffd'],
  [String.raw`not \u0000 but its spelling`, String.raw`not \u0000 but its spelling`],
  ['backslash \\\0', 'backslash \\\ufffd'],
  [{ 'k\0': ['\udfff'] }, { 'k\ufffd': ['\ufffd'] }],
  [undefined, null],
  ['😀', '😀'],
])('%j is stored as %j', (value, stored) => {
  expect(storable(value)?.value).toEqual(stored);
});

test('whatever it is, PostgreSQL can keep it, and what it can keep is left alone', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const stored = storable(value)!;
      const json = JSON.stringify(stored.value);
      expect(stored.bytes).toBe(Buffer.byteLength(json));
      // Compared as JSON, which is what is stored: it has no -0, and JavaScript has.
      expect(JSON.stringify(storable(stored.value)?.value)).toBe(json);
      expect(json).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/);
    }),
  );
});

test('its JSON and its bytes are as good as the value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const stored = storable(value)!;
      const ofJson = storableJson(JSON.stringify(value))!;
      expect([ofJson.json, ofJson.bytes]).toEqual([stored.json, stored.bytes]);
      expect(JSON.stringify(ofJson.value)).toBe(stored.json);
      expect(Storable.ofValue(stored.value, stored.bytes).json).toBe(stored.json);
      const ofContent = storableContent(Buffer.from(JSON.stringify(value)))!;
      expect([ofContent.bytes, ofContent.content.toString()]).toEqual([stored.bytes, stored.json]);
      expect([ofContent.json, ofContent.content.toString()]).toEqual([stored.json, stored.json]);
      expect(JSON.stringify(ofContent.value)).toBe(stored.json);
    }),
  );
});

test('what is too large is not', () => {
  expect(storableJson(JSON.stringify('x'.repeat(maxOutputBytes)))).toBeUndefined();
  expect(storableContent(Buffer.from(JSON.stringify('x'.repeat(maxOutputBytes))))).toBeUndefined();
  expect(storable('x'.repeat(maxOutputBytes))).toBeUndefined();
});
