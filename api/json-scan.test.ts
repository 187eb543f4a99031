import { describe, expect, test } from '@jest/globals';
import { isNestedTooDeep } from '../src/platform/core/json-depth.ts';
import { scanJson } from './json-scan.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('scanJson', () => {
  test.each([
    '{"a":[1,-2.5e3,"\\u0041",null,true]}',
    nested(64),
    '"😀 \\ud83d\\ude00 \\\\u0000"',
    '{"brackets":"[[[[{{{{"}',
    '"\\\\"',
    '1e308',
  ])('lets %.40s pass', (text) => {
    expect(scanJson(text)).toBeUndefined();
  });

  test.each([
    [nested(65), /nested/],
    [nested(200_000), /nested/],
    ['{"a":"\\u0000"}', /NUL/],
    ['"\\ud800"', /surrogate/],
    ['"\\udc00\\ud800"', /surrogate/],
    ['{"\\ud800":1}', /surrogate/],
    ['[1e400]', /range/],
    ['{"n":-1e999}', /range/],
  ])('stops %.40s', (text, problem) => {
    expect(scanJson(text)).toMatch(problem);
  });

  test('leaves broken grammar to the parser', () => {
    for (const text of ['', '{', '"open', '"\\', '-', '01', 'nul', '"\\u12"']) expect(scanJson(text)).toBeUndefined();
  });
});

test('isNestedTooDeep looks at the depth alone', () => {
  for (const text of [nested(64), '{"a":"\\u0000[[["}', `"${'['.repeat(100)}"`, '"\\"[', '{', '']) {
    expect(isNestedTooDeep(text)).toBe(false);
  }
  for (const text of [nested(65), '['.repeat(200_000), `{"a":"\\"",${'"b":{'.repeat(64)}`]) {
    expect(isNestedTooDeep(text)).toBe(true);
  }
});
