import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { MadeMedia } from '../media/media-ports.ts';
import { StartedFiles } from './started-files.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

let discarded: string[] = [];
beforeEach(() => {
  discarded = [];
});
const file = (path: string): MadeMedia => ({
  type: 'png',
  path,
  size: null,
  seconds: null,
  hasTransparency: null,
  discard: async () => void discarded.push(path),
});

test('a file that was begun is given once', async () => {
  const begun = new StartedFiles();
  begun.keep('a', async () => file('/a'));
  expect([await begun.take('a'), await begun.take('a')]).toMatchObject([{ path: '/a' }, undefined]);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(discarded).toEqual([]);
});

test('an unused one is discarded, also when it is finished later', async () => {
  const begun = new StartedFiles();
  begun.keep('a', async () => file('/a'));
  let finish = (_: MadeMedia) => {};
  begun.keep('b', () => new Promise((resolve) => (finish = resolve)));
  await jest.advanceTimersByTimeAsync(60_000);
  expect([await begun.take('a'), await begun.take('b'), discarded]).toEqual([undefined, undefined, ['/a']]);
  finish(file('/b'));
  await jest.advanceTimersByTimeAsync(0);
  expect(discarded).toEqual(['/a', '/b']);
});

test('one that fails is as if it had not been begun, and so is one too many', async () => {
  const begun = new StartedFiles();
  begun.keep('failing', () => Promise.reject(new Error('No.')));
  for (let count = 0; count < 40; count++) begun.keep(`${count}`, async () => file(`/${count}`));
  expect([await begun.take('failing'), await begun.take('0'), await begun.take('39')]).toMatchObject([
    undefined,
    { path: '/0' },
    undefined,
  ]);
});
