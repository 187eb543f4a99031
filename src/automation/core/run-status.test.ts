import { describe, expect, test } from '@jest/globals';
import { isTerminal, progressOf, runStatuses } from './run-status.ts';
import { findStepProblems, modelOf, nextStep } from './steps.ts';

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

  test('performs its steps in order and then finishes', () => {
    expect([0, 1, 2].map((finished) => nextStep(2, finished))).toEqual([
      { kind: 'perform', position: 0, last: false },
      { kind: 'perform', position: 1, last: true },
      { kind: 'finish' },
    ]);
  });
});

test('a step asks its own model, else its workflow’s', () => {
  const fallback = { provider: 'ANTHROPIC', model: 'a' } as const;
  expect(modelOf({ id: 's', type: 'prompt' }, fallback)).toEqual(fallback);
  expect(modelOf({ id: 's', type: 'prompt', provider: 'OPENAI', model: 'b' }, fallback)).toEqual({
    provider: 'OPENAI',
    model: 'b',
  });
});

test('step ids are unique', () => {
  expect(findStepProblems([{ id: 'a' }, { id: 'b' }, { id: 'a' }])).toEqual([
    { path: '2.id', message: 'The id "a" is used twice.' },
  ]);
});
