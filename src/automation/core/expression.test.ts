import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compileExpression, ExpressionError, itemVariables, stepVariables } from './expression.ts';

const values = {
  input: 'see {{secret}} & __proto__',
  variables: { name: 'Ann', count: 2 } as Record<string, unknown>,
  steps: { a: { score: 0.9, items: [1, 2] }, 'my-step': 'done' } as Record<string, unknown>,
};
const evaluate = (source: string, kind: 'condition' | 'transform' = 'transform', of = values) =>
  compileExpression(source, kind).evaluate(of);
const refusal = (source: string, kind: 'condition' | 'transform' = 'transform') => {
  try {
    compileExpression(source, kind).evaluate(values);
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
  return undefined;
};

describe('an expression', () => {
  test.each<[string, unknown]>([
    ['steps.a.output.score > 0.8 && variables.name == "Ann"', true],
    ['steps["my-step"].output', 'done'],
    ['steps.a.output.items.map(i, i * 2)', [2, 4]],
    ['{"total": size(steps.a.output.items), "ok": true}', { total: 2, ok: true }],
    ['variables.count + 1', 3],
    ['1 - variables.count', -1],
    ['steps.?missing.?output.orValue("none")', 'none'],
    ['input.contains("secret")', true],
    ['[1, "a", null]', [1, 'a', null]],
    [`"${'😀'.repeat(1_998)}"`, '😀'.repeat(1_998)],
    ['timestamp("2026-01-31T09:30:00Z")', '2026-01-31T09:30:00Z'],
    ['timestamp("2026-01-31T09:30:00.250+02:00")', '2026-01-31T07:30:00.250Z'],
    ['timestamp("2026-01-31T09:30:00Z") + duration("90m")', '2026-01-31T11:00:00Z'],
    ['duration("90m")', '5400s'],
    ['[duration("-1.5s"), duration("1us"), duration("0s")]', ['-1.500s', '0.000001s', '0s']],
    ['b"caf\\xe9"', 'Y2Fm6Q=='],
    ['{"size": uint(5), "literal": 7u}', { size: 5, literal: 7 }],
    ['variables.count % 2', 0],
    ['variables.count % 2 == 0', true],
    ['7 % variables.count', 1],
    ['-7 % variables.count', -1],
    ['10 / (7 - variables.count)', 2],
    ['(7 * variables.count) + 1', 15],
    ['3 - (1 + variables.count) * 2', -3],
    ['(7 % variables.count) * 2', 2],
    ['(1 / variables.count) * 2 - 1', 0],
  ])('%s', (source, result) => {
    expect(evaluate(source)).toEqual(result);
  });

  test.each([
    ['input.matches("^(a+)+$")', /not available/],
    ['matches(input, "^(a+)+$")', /not available/],
    ['[1].map(x, [1].map(y, [1].map(z, z)))', /nested/],
    ['inptu > 1', /inptu/],
    ['steps.my-step == "x"', /steps\["my-step"\]/],
    ['variables.constructor', /constructor/],
    ['variables.__proto__', /__proto__/],
    ['steps.missing == 1', /missing/],
    ['1 +', /./],
    ['"'.padEnd(2_100, 'x'), /2000 characters/],
    [`"${'😀'.repeat(1_999)}"`, /2000 characters/],
    ['9223372036854775807', /beyond JSON/],
    ['1.0 / 0.0', /beyond JSON/],
    ['18446744073709551615u', /beyond JSON/],
    ['steps.a.output.score % 2', /whole numbers/],
    ['variables.count % 0', /divided by zero/],
    ['type(1)', /not JSON/],
    ['{"a": [type(1)]}', /not JSON/],
    ['steps.?a', /not JSON/],
    ['timestamp("9999-12-31T23:59:59Z") + duration("1h")', /beyond the years/],
    ['inptu > 1', /^There is no variable inptu\. An expression can use .* \(Character 1\.\)$/],
    ['"😀" + 1', /^The operator does not take values of these types: string \+ int\. \(Character 1\.\)$/],
    ['size(1)', /^There is no function size\(int\)\./],
    ['"abc', /^A text is not closed\. \(Character 1\.\)$/],
    ['(1', /^A "\)" is expected\./],
    ['{{input}}', /An expression has no \{\{ \}\}/],
    ['1 +', /^The expression ends too early\./],
    ['"a" @', /^The character @ does not belong there\. \(Character 5\.\)$/],
    ['[1].map(x)', /^There is no variable x\./],
    ['has(input)', /^The arguments of has\(\) are not valid\./],
    ['variables.name.missing', /^There is no member missing\./],
    ['[1, 2][5]', /^A list has no element at this index\./],
    ['int("x")', /^A value cannot be converted to int\./],
    ['timestamp("yesterday")', /^A timestamp is written like/],
  ])('%.40s is refused', (source, reason) => {
    expect(refusal(source)).toMatch(reason);
  });

  test.each<[string, string[]]>([
    ['steps.a.output + size(steps["b"].output)', ['a', 'b']],
    ['[steps.a.output].map(x, steps.b.output)', ['a']],
    ['has(steps.a.output) ? steps.a.output : steps.b.output', []],
    ['steps.a.output || steps.b.output', []],
    ['steps.?a.output.orValue(1)', []],
  ])('%s needs %j in every case', (source, needed) => {
    const expression = compileExpression(source, 'transform');
    expect([...expression.needed]).toEqual(needed);
    for (const missing of needed) {
      const { [missing]: _, ...steps } = { a: 'a', b: 'b' } as Record<string, unknown>;
      expect(() => expression.evaluate({ ...values, steps })).toThrow(missing);
    }
  });

  test('as a condition must be true or false', () => {
    expect(refusal('"x"', 'condition')).toMatch(/true or false/);
    expect(refusal('input', 'condition')).toMatch(/true or false/);
    expect(evaluate('true', 'condition')).toBe(true);
  });

  test('does not go over lists that would take long', () => {
    const long = { ...values, variables: { list: Array.from({ length: 1_001 }, (_, index) => index) } };
    expect(() => evaluate('variables.list.map(x, variables.list.map(y, x + y))', 'transform', long)).toThrow(
      'too long',
    );
    expect(evaluate('variables.list.filter(x, x > 999)', 'transform', long)).toEqual([1000]);
  });

  test('does not build what no memory holds', () => {
    const big = { ...values, input: 'x'.repeat(100_000), variables: { list: Array.from({ length: 1_000 }, () => 1) } };
    expect(() => evaluate('variables.list.map(x, input + input)', 'transform', big)).toThrow('too much memory');
  });

  test('whatever it is, gives JSON or a reason, and soon', () => {
    const words = [
      'input',
      'variables.name',
      'steps.a.output.items',
      '1',
      '2.5',
      '"t"',
      'true',
      'null',
      '[1,2]',
      '{"k": 1}',
    ];
    const operators = [
      ' + ',
      ' == ',
      ' && ',
      ' in ',
      ' ? 1 : ',
      '.map(x, x)',
      '.size()',
      '[0]',
      '.all(y, y > 1)',
      ' * ',
    ];
    const part = fc.constantFrom(...words, ...operators, '(', ')', '!');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 12 }), (parts) => {
        const source = parts.join('');
        if (refusal(source) === undefined) expect(JSON.stringify(evaluate(source))).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });
});

describe('the variables of an expression', () => {
  const scope = { item: { n: 2 }, index: 1, total: 3 };
  const inMap = (source: string) =>
    compileExpression(source, 'transform', itemVariables).evaluate({ ...values, scope });

  test('are those of the item within a map', () => {
    expect(inMap('[item.n * 2, index + 1, total]')).toEqual([4, 2, 3]);
    expect(inMap('steps.a.output.items[index]')).toBe(2);
    expect(() => compileExpression('item', 'transform')).toThrow('can use input, variables and steps.');
  });

  test('are those of the event where one is looked at', () => {
    const match = compileExpression('event.data.id == input', 'condition', ['event', 'input']);
    const given = { ...values, input: 7, event: { data: { id: 7 } } };
    expect(match.evaluate(given)).toBe(true);
    expect(match.evaluate({ ...given, input: 8 })).toBe(false);
    expect(() => compileExpression('event', 'transform', itemVariables)).toThrow(
      'input, variables, steps, item, index and total',
    );
  });

  test('items are a list', () => {
    const items = (source: string) => compileExpression(source, 'items', stepVariables).evaluate(values);
    expect(items('steps.a.output.items')).toEqual([1, 2]);
    expect(items('[1, "a"]')).toEqual([1, 'a']);
    expect(() => items('"a"')).toThrow('must be a list');
    expect(() => items('{"a": 1}')).toThrow('must be a list');
    expect(() => items('input')).toThrow('must be a list');
  });
});
