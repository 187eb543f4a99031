import { expect, test } from '@jest/globals';
import { enableHolds, holdUntilReleased, isHeld, releaseHold } from './holds.ts';

const { signal } = new AbortController();

test('nothing holds until holds are enabled, as outside tests', async () => {
  expect(isHeld('1')).toBe(false);
  await holdUntilReleased('1', signal);
});

test('work waits until its hold is released, and what was released does not hold again', async () => {
  enableHolds();
  const passed: string[] = [];
  const waiting = ['2', '2', '3'].map((name) => holdUntilReleased(name, signal).then(() => passed.push(name)));
  await new Promise(setImmediate);
  expect([passed, isHeld('2')]).toEqual([[], true]);
  releaseHold('2');
  await Promise.all(waiting.slice(0, 2));
  expect([passed, isHeld('2'), isHeld('3')]).toEqual([['2', '2'], false, true]);
  await holdUntilReleased('2', signal);
  await holdUntilReleased(undefined, signal);
  releaseHold('3');
  await Promise.all(waiting);
});

test('held work can be aborted', async () => {
  enableHolds();
  const cancel = new AbortController();
  const waiting = holdUntilReleased('4', cancel.signal);
  cancel.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  await expect(holdUntilReleased('4', cancel.signal)).rejects.toThrow('cancelled');
});
