import { expect, test } from '@jest/globals';
import { ValueRenderer } from './render-value.ts';
import { TemplateTooLong } from './template.ts';

const values = { input: { a: [1] }, variables: { n: 5, none: null, text: '{{n}}' }, steps: { one: { output: true } } };

test('a string that is exactly one placeholder becomes the value, and others stay texts', () => {
  const renderer = new ValueRenderer(values);
  const rendered = renderer.value({
    whole: '{{ input }}',
    number: '{{n}}',
    none: '{{none}}',
    text: 'n: {{n}}',
    two: '{{n}}{{n}}',
    spaced: ' {{n}}',
    plain: 7,
    list: ['{{steps.one.output}}', { deep: '{{text}}' }],
    missing: '{{nobody}}',
    '{{n}}': 'names stay',
  });
  expect(rendered).toEqual({
    whole: { a: [1] },
    number: 5,
    none: null,
    text: 'n: 5',
    two: '55',
    spaced: ' 5',
    plain: 7,
    list: [{ output: true }, { deep: '{{n}}' }],
    missing: null,
    '{{n}}': 'names stay',
  });
  expect(renderer.warnings).toEqual([{ code: 'unknown_variable', name: 'nobody' }]);
});

test('a short template that repeats a long value is refused before it is written', () => {
  const long = { input: { text: 'x'.repeat(100_000) }, variables: {}, steps: {} };
  const repeated = Array.from({ length: 1_000 }, () => '{{input}}');
  expect(() => new ValueRenderer(long).value(repeated)).toThrow(TemplateTooLong);
  expect(() => new ValueRenderer(long).value(repeated.slice(0, 20))).not.toThrow();
});
