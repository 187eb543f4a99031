import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findStepProblems } from './check-steps.ts';
import { candidatesOf, nextStep, type Step } from './steps.ts';

const prompt = (id: string): Step => ({ id, type: 'prompt' });
const condition = (id: string, jumps: { then?: string; else?: string } = {}): Step => ({
  id,
  type: 'condition',
  expression: 'true',
  ...jumps,
});

describe('the step that comes next', () => {
  const steps = [condition('a', { then: 'c', else: 'b' }), prompt('b'), prompt('c'), condition('d')];

  test.each([
    ['a condition that holds jumps', 0, true, 2],
    ['a condition that does not hold jumps elsewhere', 0, false, 1],
    ['a step is followed by the one after it', 1, 'text', 2],
    ['a condition without jumps goes on when it holds', 3, true, 4],
    ['a condition without jumps ends the run when it does not', 3, false, 4],
  ])('%s', (_, position, output, next) => {
    expect(nextStep(steps, position, output)).toBe(next);
  });

  test('`end` is the end, unless a later step has that id', () => {
    expect(nextStep([condition('a', { then: 'end' }), prompt('b')], 0, true)).toBe(2);
    expect(nextStep([condition('a', { then: 'end' }), prompt('b'), prompt('end')], 0, true)).toBe(2);
    expect(nextStep([condition('a'), prompt('b'), prompt('c')], 0, false)).toBe(3);
  });

  test('is always a later one, so that every run ends', () => {
    const ids = ['a', 'b', 'c', 'd', 'end', 'nowhere'];
    const id = fc.constantFrom(...ids);
    const step = fc.oneof(
      id.map(prompt),
      fc
        .record({ id, then: fc.option(id), else: fc.option(id) })
        .map(
          ({ id, then: onTrue, else: onFalse }): Step =>
            condition(id, { ...(onTrue && { then: onTrue }), ...(onFalse && { else: onFalse }) }),
        ),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), fc.array(fc.boolean()), (steps, outputs) => {
        let visits = 0;
        for (let position = 0; position < steps.length; visits++) {
          const next = nextStep(steps, position, outputs[visits] ?? false);
          expect(next).toBeGreaterThan(position);
          expect(next).toBeLessThanOrEqual(steps.length);
          position = next;
        }
        expect(visits).toBeLessThanOrEqual(steps.length);
      }),
    );
  });
});

test('a step calls its own model, or else its workflow’s, and then its fallbacks', () => {
  const byDefault = { provider: 'ANTHROPIC', model: 'a' } as const;
  expect(candidatesOf({ id: 's', type: 'prompt' }, byDefault)).toEqual([byDefault]);
  const fallback = [{ provider: 'GOOGLE', model: 'c' } as const];
  expect(candidatesOf({ id: 's', type: 'prompt', provider: 'OPENAI', model: 'b', fallback }, byDefault)).toEqual([
    { provider: 'OPENAI', model: 'b' },
    { provider: 'GOOGLE', model: 'c' },
  ]);
});

describe('steps cannot be saved', () => {
  test('with one id twice', () => {
    expect(findStepProblems([prompt('a'), prompt('b'), prompt('a')])).toEqual([
      { path: '2.id', message: 'The id "a" is used twice.' },
    ]);
  });

  test.each(['a', 'b', 'nowhere', 'End'])('with a jump to %s, which is no later step', (target) => {
    const problems = findStepProblems([prompt('a'), condition('b', { else: target }), prompt('c')]);
    expect(problems).toMatchObject([{ path: '1.else' }]);
  });

  test('and can with one to a later step or the end', () => {
    expect(findStepProblems([condition('a', { then: 'c', else: 'end' }), prompt('b'), prompt('c')])).toEqual([]);
  });
});
