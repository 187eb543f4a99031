import { describe, expect, test } from '@jest/globals';
import { findDefinitionProblems, type InputDefinition, resolveInputs } from './inputs.ts';

const definitions: InputDefinition[] = [
  { name: 'topic', type: 'string', required: true },
  { name: 'count', type: 'number', required: false, default: 3 },
  { name: 'tags', type: 'array', required: false },
];

describe('resolveInputs', () => {
  test('fills defaults and keeps unknown inputs', () => {
    expect(resolveInputs(definitions, { topic: 'tea', extra: true })).toEqual({
      variables: { topic: 'tea', count: 3, extra: true },
      problems: [],
    });
  });

  test('names what is missing and what has another type', () => {
    const { problems } = resolveInputs(definitions, { count: '3', tags: null });
    expect(problems).toEqual([
      { path: 'inputs.topic', message: 'This input is required.' },
      { path: 'inputs.count', message: 'Expected number, got string.' },
      { path: 'inputs.tags', message: 'Expected array, got null.' },
    ]);
  });

  test('a required input with a default may be left out', () => {
    const problems = resolveInputs([{ name: 'a', type: 'boolean', required: true, default: false }], {});
    expect(problems).toEqual({ variables: { a: false }, problems: [] });
  });

  test('an inherited name is not an input', () => {
    expect(resolveInputs([{ name: 'toString', type: 'string', required: true }], {}).problems).toHaveLength(1);
  });
});

test('findDefinitionProblems reports duplicates and defaults of another type', () => {
  const doubled: InputDefinition[] = [
    { name: 'a', type: 'string', required: true },
    { name: 'a', type: 'number', required: false, default: 'x' },
  ];
  expect(findDefinitionProblems(doubled).map(({ path }) => path)).toEqual(['1.name', '1.default']);
});
