import { describe, expect, test } from '@jest/globals';
import { renderTemplate } from './template.ts';

const render = (template: string, values: { input?: unknown; variables?: object; steps?: object } = {}) =>
  renderTemplate(template, {
    input: values.input,
    variables: (values.variables ?? {}) as Record<string, unknown>,
    steps: (values.steps ?? {}) as Record<string, unknown>,
  });

describe('renderTemplate', () => {
  test.each([
    ['Hi {{input}}!', { input: 'Ada' }, 'Hi Ada!'],
    ['{{ name }}', { variables: { name: 'Ada' } }, 'Ada'],
    ['{{user name}}', { variables: { 'user name': 'Ada' } }, 'Ada'],
    ['{{input}}', { input: { a: [1, null] } }, '{"a":[1,null]}'],
    ['{{n}} {{t}}', { variables: { n: 0, t: false } }, '0 false'],
    ['{{steps.first.output}}', { steps: { first: 'done' } }, 'done'],
    ['{{steps.my-step.output}}', { steps: { 'my-step': { ok: true } } }, '{"ok":true}'],
    ['no placeholder', {}, 'no placeholder'],
    ['{{ open', {}, '{{ open'],
    ['close }} {{input}}', { input: 1 }, 'close }} 1'],
    ['{{ {{input}} }}', { input: 'x' }, '{{ x }}'],
    ['{single} {{input}}', { input: 'x' }, '{single} x'],
  ])('fills %j', (template, values, text) => {
    expect(render(template, values)).toEqual({ text, warnings: [] });
  });

  test('does not render inserted values again', () => {
    const variables = { v: '{{input}} $& $1 {{v}}' };
    expect(render('{{v}}|{{input}}', { input: '{{v}}', variables }).text).toBe('{{input}} $& $1 {{v}}|{{v}}');
  });

  test('an unknown name becomes empty and adds one warning', () => {
    expect(render('[{{nope}}{{nope}}{{steps.x.output}}]')).toEqual({
      text: '[]',
      warnings: [
        { code: 'unknown_variable', name: 'nope' },
        { code: 'unknown_variable', name: 'steps.x.output' },
      ],
    });
  });

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'steps.constructor.output'])(
    'does not reach what a record inherits: %s',
    (name) => {
      expect(render(`[{{${name}}}]`)).toEqual({ text: '[]', warnings: [{ code: 'unknown_variable', name }] });
    },
  );

  test('takes time linear in a hostile template', () => {
    // A quadratic scan of these would take minutes; the test's own time limit is what fails it.
    for (const hostile of [
      '{{'.repeat(500_000),
      '}}'.repeat(500_000),
      `{{${' '.repeat(1_000_000)}`,
      '{{}}'.repeat(250_000),
    ]) {
      expect(render(hostile).text.length).toBeLessThanOrEqual(hostile.length);
    }
  });
});
