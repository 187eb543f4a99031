import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { ApplicationFailure, asyncLocalStorage, type Context } from '@temporalio/activity';
import { inLocalTime } from '../../activities/activity-context.ts';

const inActivity = <Result>(isLocal: boolean, work: () => Promise<Result>) =>
  asyncLocalStorage.run({ info: { isLocal } } as Context, () => inLocalTime(work));

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

test('a local activity gives up before its time is over, and is not retried', async () => {
  let failure: unknown;
  const ended = inActivity(true, () => new Promise(() => {})).catch((thrown) => {
    failure = thrown;
  });
  jest.advanceTimersByTime(7_999);
  await Promise.resolve();
  expect(failure).toBeUndefined();
  jest.advanceTimersByTime(1);
  await ended;
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ nonRetryable: true });
});

test('work that ends in time has its own outcome', async () => {
  expect(await inActivity(true, async () => 'done')).toBe('done');
  await expect(inActivity(true, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
});

test('an activity with heartbeats has no such limit', async () => {
  const work = inActivity(false, () => new Promise((resolve) => setTimeout(() => resolve('done'), 60_000)));
  jest.advanceTimersByTime(60_000);
  expect(await work).toBe('done');
});
