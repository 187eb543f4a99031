import { expect, test } from '@jest/globals';
import { isProvidersFault, storedAccount } from './account-of.ts';

const account = { id: 'T0', name: 'Example', details: {} };

test('an account is stored as its provider names it, without what a line or the database cannot hold', () => {
  expect(storedAccount({ ...account, name: 'Ada\n\0Lovelace \ud800' })).toEqual({
    ...account,
    name: 'Ada  Lovelace \ufffd',
  });
  expect(storedAccount({ ...account, name: 'x'.repeat(400) }).name).toHaveLength(320);
});

test.each([
  { id: '' },
  { id: 'x'.repeat(321) },
  { id: 'a\0b' },
  { details: { at: 'x'.repeat(2_001) } },
  { details: { at: '\0' } },
  { details: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`d${at}`, 'x'])) },
])('an account that no provider can mean is none: %#', (change) => {
  let thrown: unknown;
  try {
    storedAccount({ ...account, ...change } as never);
  } catch (error) {
    thrown = error;
  }
  expect(isProvidersFault(thrown)).toBe(true);
});

test('time that runs out is the fault of the provider, and an error of our own is not', async () => {
  const signal = AbortSignal.timeout(1);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(isProvidersFault(signal.reason)).toBe(true);
  expect(isProvidersFault(new Error('ours'))).toBe(false);
});
