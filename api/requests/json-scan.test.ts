import { describe, expect, test } from '@jest/globals';
import { scanJson } from './json-scan.ts';

describe('scanJson', () => {
  test.each([
    '{"a":[1,-2.5e3,"\\u0041",null,true]}',
    '"😀 \\ud83d\\ude00 \\\\u0000"',
    '{"brackets":"[[[[{{{{"}',
    '"\\\\"',
    '1e308',
  ])('lets %.40s pass', (text) => {
    expect(scanJson(text)).toBeUndefined();
  });

  test.each([
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
