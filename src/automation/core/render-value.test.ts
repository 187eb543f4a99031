import { expect, test } from '@jest/globals';
import { wholeOf } from '../../platform/core/parts.ts';
import { ValueRenderer } from './render-value.ts';
import { TemplateTooLong } from './template.ts';

const values = { input: { a: [1] }, variables: { n: 5, none: null, text: '{{n}}' }, steps: { one: { output: true } } };

test('a string that is exactly one placeholder becomes the value, and others stay texts', () => {
  const renderer = new ValueRenderer(values);
  const rendered = wholeOf(
    renderer.value({
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
    }),
  );
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
  expect(() => wholeOf(new ValueRenderer(long).value(repeated))).toThrow(TemplateTooLong);
  expect(() => wholeOf(new ValueRenderer(long).value(repeated.slice(0, 20)))).not.toThrow();
});

test('all strings are texts where that is asked, and their values are not filled in again', () => {
  const payload = JSON.parse(
    '{"channel": "{{where}}", "blocks": [{"text": "Hi {{input}}", "n": 1}], "__proto__": "{{x}}", "count": "{{n}}"}',
  );
  const renderer = new ValueRenderer(
    { input: '{{where}}', variables: { where: 'C1', n: 5 }, steps: {} },
    { onlyTexts: true },
  );
  expect(JSON.stringify(wholeOf(renderer.value(payload)))).toBe(
    '{"channel":"C1","blocks":[{"text":"Hi {{where}}","n":1}],"__proto__":"","count":"5"}',
  );
  expect(renderer.warnings).toEqual([{ code: 'unknown_variable', name: 'x' }]);
});

test('many strings are no longer together than one may be', () => {
  const many = { items: Array.from({ length: 100 }, () => 'A {{input}}') };
  const renderer = new ValueRenderer({ input: 'x'.repeat(50_000), variables: {}, steps: {} }, { onlyTexts: true });
  expect(() => wholeOf(renderer.value(many))).toThrow(TemplateTooLong);
});

test('many names and many strings are filled in by parts', () => {
  const partsOf = (value: unknown) => {
    let count = 1;
    for (const parts = new ValueRenderer(values).value(value); !parts.next().done; ) count++;
    return count;
  };
  expect(partsOf('A {{n}}')).toBe(1);
  expect(partsOf('A {{n}}'.repeat(10_000))).toBe(11);
  expect(partsOf(Array.from({ length: 10_000 }, () => 'A'))).toBe(21);
});
