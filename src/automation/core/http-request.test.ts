import { expect, test } from '@jest/globals';
import { findHttpProblems, type HttpFields, originOf } from './http-request.ts';

const pathsOf = (step: Partial<HttpFields>) =>
  findHttpProblems({ url: 'https://example.com', ...step }).map(({ path }) => path);

test('headers that a step may not set are reported', () => {
  const names = [
    'Host',
    'content-length',
    'TRANSFER-ENCODING',
    'Connection',
    'Upgrade',
    'TE',
    'Trailer',
    'Proxy-Anything',
  ];
  for (const name of names) {
    expect(pathsOf({ headers: { [name]: 'x' } })).toEqual([`headers.${name}`]);
    expect(pathsOf({ secretHeaders: { [name]: 'TOKEN' } })).toEqual([`secretHeaders.${name}`]);
  }
  expect(pathsOf({ headers: { 'X-A': 'x', 'Content-Type': 'a/b', Cookie: '{{c}}' } })).toEqual([]);
  expect(pathsOf({ headers: { 'X A': 'x', '': 'y' } })).toEqual(['headers.X A', 'headers.']);
  expect(pathsOf({ headers: { 'X-A': 'a\r\nb' } })).toEqual(['headers.X-A']);
  expect(pathsOf({ headers: { 'X-A': 'x', 'x-a': 'y' } })).toEqual(['headers.x-a']);
  expect(pathsOf({ headers: { authorization: 'x' }, secretHeaders: { Authorization: 'TOKEN' } })).toEqual([
    'secretHeaders.Authorization',
  ]);
  expect(pathsOf({ secretHeaders: { Authorization: 'token' } })).toEqual(['secretHeaders.Authorization']);
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`X-${index}`, 'x']));
  expect(pathsOf({ headers: many })).toEqual(['headers']);
});

test('with secrets, nothing can change where they are sent', () => {
  const secretHeaders = { Authorization: 'TOKEN' };
  const refused = [
    '{{url}}',
    'https://{{host}}/x',
    'https://example.com{{rest}}',
    'https://example.com:{{port}}/',
    '{{scheme}}://example.com/',
    'https://user{{x}}@example.com/',
    'https://example.com\\{{x}}',
    'ftp://example.com/',
    ' https://example.com/{{x}}',
  ];
  for (const url of refused) expect({ url, paths: pathsOf({ url, secretHeaders }) }).toEqual({ url, paths: ['url'] });
  for (const url of ['https://example.com/{{x}}', 'https://example.com?{{x}}', 'https://example.com']) {
    expect(pathsOf({ url, secretHeaders })).toEqual([]);
  }
  expect(originOf('https://EXAMPLE.com:443/{{x}}')).toBe('https://example.com');
});

test('statuses are codes or classes', () => {
  expect(pathsOf({ successStatus: [200, '2xx', '304', '5XX'] })).toEqual([]);
  expect(pathsOf({ successStatus: [99, 600, '6xx', 'ok', 2.5] })).toEqual(
    [0, 1, 2, 3, 4].map((index) => `successStatus.${index}`),
  );
});
