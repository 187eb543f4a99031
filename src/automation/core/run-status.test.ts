import { describe, expect, test } from '@jest/globals';
import { isTerminal, progressOf, runStatuses } from './run-status.ts';

describe('a run', () => {
  test('ends in one of three ways', () => {
    expect(runStatuses.filter(isTerminal)).toEqual(['completed', 'failed', 'cancelled']);
  });

  test('progresses monotonously and is at 100 only when completed', () => {
    const progress = [0, 1, 2, 3].map((finished) => progressOf('running', finished, 3));
    expect(progress).toEqual([0, 33, 66, 100]);
    expect(progressOf('failed', 1, 3)).toBe(33);
    expect(progressOf('completed', 0, 0)).toBe(100);
    expect(progressOf('queued', 0, 0)).toBe(0);
  });
});
