import { expect, test } from '@jest/globals';
import { ownPath } from './next-path.ts';

test('paths of our own stay as they are', () => {
  for (const path of [
    '/app',
    '/app/runs?status=failed&env=live',
    '/app/runs/run_1?step=a.b',
    '/',
    '/%2f%2fevil.example',
  ]) {
    expect(ownPath(path)).toBe(path);
  }
  expect(ownPath('/app/../docs')).toBe('/docs');
});

test('nothing leads to another origin', () => {
  const hostile = [
    undefined,
    '',
    'app',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '/app/..//evil.example',
    '/.//evil.example',
    '/%2e%2e//evil.example',
    '/\u0000/evil.example',
    `/${'a'.repeat(2_000)}`,
  ];
  for (const text of hostile) expect([text, ownPath(text)]).toEqual([text, undefined]);
});
